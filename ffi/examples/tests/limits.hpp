// Servers that run short of something, or meet what they do not expect.
#pragma once

void in_tiny_pools();
void with_greedy_clients();
void with_a_full_queue();
void with_few_descriptors();
void with_odd_ends();
void with_early_signals();
