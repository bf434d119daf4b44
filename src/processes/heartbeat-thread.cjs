// Plain JavaScript, as a thread doesn't load the sources of a package through the hook of its process.
const { writeSync } = require('node:fs');
const { beats, stuckSeconds } = require('node:worker_threads').workerData;

let last = -1;
let missed = 0;

// Counts its own ticks: while a machine sleeps or the process is stopped, it doesn't tick either.
setInterval(() => {
  const now = Atomics.load(beats, 0);
  missed = now === last ? missed + 1 : 0;
  last = now;
  if (missed < stuckSeconds) return;
  const msg = `The event loop was stuck for ${stuckSeconds} s; the process ends, and whoever runs it has to start it again`;
  // The main thread, which hangs, has the log.
  try {
    writeSync(2, `${JSON.stringify({ level: 60, time: new Date().toISOString(), msg })}\n`);
  } finally {
    process.kill(process.pid, 'SIGKILL');
  }
}, 1_000);
