#!/usr/bin/env bash
# Instructions per operation at three pool sizes, counted by callgrind: they must not depend on the size of the pool. Counts are
# exact, so this is a gate: more than 3 % between the smallest and the largest count of an operation is an error. So is more than
# 8.3 times the count of one shard for an admission over eight.
#
#   benches/instructions.sh [ROUNDS]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly rounds=${1:-64} sizes=(10000 100000 1000000) most=3 shards=8.3

program=$(cargo bench --locked -p kvblock --bench figures --no-run 2>&1 | tee /dev/stderr |
  sed -n 's/^ *Executable .*(\(.*\))$/\1/p')
readonly program
scratch=$(mktemp -d)
readonly scratch
trap 'rm -rf "$scratch"' EXIT

for blocks in "${sizes[@]}"; do
  mkdir "$scratch/$blocks"
  valgrind --tool=callgrind --callgrind-out-file="$scratch/$blocks/out" \
    --toggle-collect='figures::instructions::measured*' --dump-before='figures::instructions::boundary*' \
    "$program" --instructions --blocks "$blocks" --rounds "$rounds" \
    >"$scratch/$blocks/operations" 2>"$scratch/$blocks/log" || { cat "$scratch/$blocks/log"; exit 1; }
  # Two files for each operation, in order, for its warm-up and for what counts: the line `totals`.
  file=0
  while IFS=$'\t' read -r units name; do
    file=$((file + 2))
    printf '%s\t%s\t%s\t%s\n' "$blocks" "$units" "$(awk '/^totals:/ {print $2}' "$scratch/$blocks/out.$file")" "$name"
  done <"$scratch/$blocks/operations" >"$scratch/$blocks/counts"
done

cat "$scratch"/*/counts | awk -F '\t' -v sizes="${sizes[*]}" -v most="$most" -v shards="$shards" '
  BEGIN {
    n = split(sizes, size, " ")
    printf "%-44s", "instructions a block"
    for (i = 1; i <= n; i++) printf "%10d", size[i]
    printf "%10s\n", "differ"
  }
  !($4 in known) {known[$4] = 1; order[++operations] = $4}
  {count[$4, $1] = $3 / $2}
  END {
    for (o = 1; o <= operations; o++) {
      low = high = count[order[o], size[1]]
      printf "%-44s", order[o]
      for (i = 1; i <= n; i++) {
        c = count[order[o], size[i]]
        if (c < low) low = c
        if (c > high) high = c
        printf "%10.1f", c
      }
      differ = low > 0 ? 100 * (high - low) / low : 100
      if (differ > worst) worst = differ
      printf "%9.2f%%%s\n", differ, (differ > most ? "  MISSED" : "")
    }
    printf "largest difference %.2f %%, gate %d %%: %s\n", worst, most, (worst > most ? "MISSED" : "met")
    for (o = 1; o <= operations; o++) {
      name = order[o]
      if (!sub(/, 8 shards$/, ", 1 shard", name)) continue
      for (i = 1; i <= n; i++) {
        times = count[order[o], size[i]] / count[name, size[i]]
        if (times > dearest) dearest = times
      }
    }
    printf "eight shards at most %.2f times one, gate %.1f: %s\n", dearest, shards, (dearest > shards ? "MISSED" : "met")
    exit (worst > most || dearest > shards)
  }'
