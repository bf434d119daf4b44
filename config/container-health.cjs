// The health check of the image: asks the port of the command that the container runs, or that the argument names. A command
// without a port is healthy while it runs.
const { readFileSync } = require('node:fs');

const command = process.argv[2] || readFileSync('/proc/1/cmdline', 'utf8').replaceAll('\0', ' ');
const ports = { web: process.env.PORT || '3000', start: process.env.PORT || '3000', worker: process.env.WORKER_PORT };
const [, name] = /trunkline\S* (\w+)/.exec(command) ?? [];
const port = ports[name];

// Kubernetes sets WORKER_PORT=tcp://... beside a service named "worker".
if (port !== undefined && /^\d+$/.test(port)) {
  fetch(`http://127.0.0.1:${port}/healthz`).then(
    ({ ok }) => process.exit(ok ? 0 : 1),
    () => process.exit(1),
  );
}
