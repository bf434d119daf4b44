// Plain JavaScript: the hook that loads the package's TypeScript doesn't work in a thread.
const { writeSync } = require('node:fs');
const { beats, stuckSeconds } = require('node:worker_threads').workerData;

let last = -1;
let missed = 0;

// Counts its own ticks, which also stop while the machine sleeps or the process is stopped.
setInterval(() => {
  const now = Atomics.load(beats, 0);
  missed = now === last ? missed + 1 : 0;
  last = now;
  if (missed < stuckSeconds) return;
  const msg = `The event loop was stuck for ${stuckSeconds} s; the process ends, and whoever runs it has to start it again`;
  // Not the log: it belongs to the main thread, which is stuck.
  try {
    writeSync(2, `${JSON.stringify({ level: 60, time: new Date().toISOString(), msg })}\n`);
  } finally {
    process.kill(process.pid, 'SIGKILL');
  }
}, 1_000);
