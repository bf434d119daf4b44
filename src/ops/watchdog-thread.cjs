// Plain JavaScript, as a thread does not load the sources of a package through the hook of its process.
const { writeSync } = require('node:fs');
const { Session } = require('node:inspector');
const { parentPort, workerData } = require('node:worker_threads');
const { Client } = require('pg');

const { beats, tickMs, stuckTicks, databaseUrl, statements, workSymbol } = workerData;
/** The rest of the work after the process is found to be stuck, in milliseconds. */
const askMs = 10_000;
const noteMs = 10_000;

const counter = new Int32Array(beats);
let last = Atomics.load(counter, 0);
let missed = 0;
let used = process.cpuUsage();
let isEnding = false;

// Counts its own ticks: a process that is stopped, or a machine that sleeps, does not tick either. One that hardly got a processor
// may just wait for it on a busy machine: that tick counts for what it computed, and for a tenth at least.
setInterval(() => {
  const now = Atomics.load(counter, 0);
  const { user, system } = process.cpuUsage(used);
  used = process.cpuUsage();
  missed = now === last ? missed + Math.min(1, Math.max(0.1, (user + system) / 1_000 / tickMs)) : 0;
  last = now;
  if (missed < stuckTicks || isEnding) return;
  isEnding = true;
  void end();
}, tickMs);

parentPort.on('message', async (work) => {
  await note(work);
  parentPort.postMessage('noted');
});

async function end() {
  const asked = await within(askMs, askMainThread());
  // The event loop may have gone on meanwhile.
  if (Atomics.load(counter, 0) !== last) {
    isEnding = false;
    missed = 0;
    return;
  }
  const seconds = Math.round((stuckTicks * tickMs) / 1_000);
  log(`The event loop was stuck for ${seconds} s; the process ends, and whoever runs it has to start it again`, asked);
  if (asked) await note(asked);
  process.kill(process.pid, 'SIGKILL');
}

/** What the main thread works on, and where it hangs. The inspector interrupts even a regular expression. */
function askMainThread() {
  return new Promise((resolve) => {
    const session = new Session();
    session.connectToMainThread();
    const expression = `globalThis[Symbol.for('${workSymbol}')]()`;
    session.post('Runtime.evaluate', { expression, returnByValue: true }, (error, answer) => {
      resolve(error ? undefined : answer.result.value);
      session.disconnect();
    });
  });
}

/** Records in Postgres what was in work; without that, its leases expire, which counts less. */
async function note({ items, isExact }) {
  if (items.length === 0) return;
  const client = new Client({ connectionString: databaseUrl, connectionTimeoutMillis: noteMs, query_timeout: noteMs });
  client.on('error', () => undefined);
  const write = async () => {
    await client.connect();
    for (const statement of statements) await client.query(statement, [JSON.stringify(items), isExact]);
    await client.end();
  };
  await within(
    noteMs,
    write().catch((error) => log(`The work in progress could not be recorded in Postgres: ${error.message}`)),
  );
}

function within(ms, promise) {
  return Promise.race([promise, new Promise((resolve) => setTimeout(resolve, ms))]);
}

/** The main thread, which hangs, has the log. */
function log(msg, work) {
  const line = { level: 60, time: new Date().toISOString(), ...(work && { work: work.words, stack: work.stack }), msg };
  try {
    writeSync(2, `${JSON.stringify(line)}\n`);
  } catch {
    // A closed reader of the log must not keep the process alive.
  }
}
