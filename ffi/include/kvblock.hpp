/*
 * kvblock.hpp - the C++17 face of kvblock.h: the same functions as methods of objects that own what they name.
 *
 * Licence: MIT or Apache-2.0. Header only; works without exceptions and run-time types; allocates nothing of its own.
 * What a call does, costs and refuses is said in kvblock.h beside the function of C that it is named after.
 *
 * OBJECTS (Pool, Sequences, ...) are moved, not copied, and destroy what they own. One that was moved from owns nothing:
 * calls by it are answered KVB_ERR_NULL. get() gives the pointer of C, into_raw() gives it away, and each is made of one.
 *
 * RESULTS. A call that can fail returns Result<T>, which must be looked at: `if (!result)`, then error(), else value().
 * Reading the one that is not there is a bug of the program, which is aborted. A Result<void> compares with a KVB_*.
 *
 * CONSUMING CALLS are called on `std::move(object)` or take one; refused, they leave it as it was.
 *
 * BATCHES are View<const T>, of any array, vector or span; what is lent is a View, too, for as long as kvblock.h says.
 *
 * THREADS. As in kvblock.h. All methods of a PoolRef may run at the same time; a Sequences, Step, Lanes and whatever
 * belongs to one scheduler is one thread's at a time.
 */
#ifndef KVBLOCK_HPP
#define KVBLOCK_HPP

#include <kvblock.h>
#include <kvblock/admit.hpp>
#include <kvblock/block.hpp>
#include <kvblock/chain.hpp>
#include <kvblock/copy_plan.hpp>
#include <kvblock/events.hpp>
#include <kvblock/fences.hpp>
#include <kvblock/fleet.hpp>
#include <kvblock/fleet_report.hpp>
#include <kvblock/format.hpp>
#include <kvblock/handle.hpp>
#include <kvblock/holder.hpp>
#include <kvblock/hooks.hpp>
#include <kvblock/lanes.hpp>
#include <kvblock/layout.hpp>
#include <kvblock/leases.hpp>
#include <kvblock/metrics.hpp>
#include <kvblock/move.hpp>
#include <kvblock/object.hpp>
#include <kvblock/plan.hpp>
#include <kvblock/pool.hpp>
#include <kvblock/prompt.hpp>
#include <kvblock/result.hpp>
#include <kvblock/sequences.hpp>
#include <kvblock/step.hpp>
#include <kvblock/swap.hpp>
#include <kvblock/transfer.hpp>
#include <kvblock/view.hpp>

#endif  // KVBLOCK_HPP
