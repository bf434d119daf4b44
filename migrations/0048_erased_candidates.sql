-- A list of numbers, or a call that was being read, could bring back who was erased.
delete from ops.thread_candidates where ops.is_erased_thread(number);
