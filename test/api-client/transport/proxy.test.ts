import { once } from 'node:events';
import { createServer, request } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterAll, afterEach, expect, test } from 'vitest';
import { createService, ServiceError } from '../../../src/api-client/client.ts';
import { createSandbox } from '../../../src/sandbox/sandbox.ts';

/** The host is known to the proxy alone. */
const host = 'service.test';
const sandbox = await createSandbox({ calls: 0, threads: 0 });
const { port } = new URL(sandbox.url);
let passed: string[] = [];
let isRefusing = false;

const proxy = createServer((asked, answer) => {
  passed.push(`${asked.method} ${asked.url}`);
  const { method, headers } = asked;
  const { pathname } = new URL(asked.url ?? '');
  asked.pipe(
    request({ host: '127.0.0.1', port, path: pathname, method, headers }, (received) => {
      answer.writeHead(received.statusCode ?? 502, received.headers);
      received.pipe(answer);
    }),
  );
});
proxy.on('connect', ({ url }, socket) => {
  passed.push(`CONNECT ${url}`);
  if (isRefusing) return socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
  const on = connect(Number(port), '127.0.0.1', () => {
    socket.write('HTTP/1.1 200 Connection Established\r\n\r\n');
    on.pipe(socket).pipe(on);
  });
  for (const each of [on, socket]) each.on('error', () => undefined);
});
await once(proxy.listen(0, '127.0.0.1'), 'listening');
afterAll(async () => {
  proxy.closeAllConnections();
  proxy.close();
  await sandbox.close();
});

const { HTTP_PROXY, HTTPS_PROXY, NO_PROXY } = process.env;
const given = { HTTP_PROXY, HTTPS_PROXY, NO_PROXY };
afterEach(() => {
  passed = [];
  isRefusing = false;
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
});
const throughProxy = () => {
  process.env.HTTP_PROXY = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  delete process.env.NO_PROXY;
};

async function asking<T>(baseUrl: string, work: (service: ReturnType<typeof createService>) => Promise<T>): Promise<T> {
  const service = createService({ baseUrl, apiKey: sandbox.apiKey, retry: { tries: 1 } });
  try {
    return await work(service);
  } finally {
    await service.close();
  }
}

test('the service is asked through the proxy of the environment, sends too', async () => {
  throughProxy();
  await asking(`http://${host}:${port}`, async (service) => {
    expect((await service.lines.list()).data).toHaveLength(4);
    const { data } = await service.messages.send({ from: '16465550100', to: ['12125550142'], message: 'Hello' });
    expect(data.billing?.type).toBe('sms');
  });
  expect(passed.length).toBeGreaterThan(0);
  expect(sandbox.sends()).toHaveLength(1);
});

test('a proxy that refuses proves that nothing was sent', async () => {
  throughProxy();
  process.env.HTTPS_PROXY = process.env.HTTP_PROXY;
  isRefusing = true;
  const error = await asking(`https://${host}:${port}`, (service) =>
    service.messages.send({ from: '16465550100', to: ['12125550142'], message: 'Hello' }).catch((each) => each),
  );
  expect(passed).toEqual([`CONNECT ${host}:${port}`]);
  expect(error).toBeInstanceOf(ServiceError);
  expect((error as ServiceError).effect).toBe('none');
});

test('this machine is asked directly', async () => {
  throughProxy();
  await asking(sandbox.url, async (service) => expect((await service.lines.list()).data).toHaveLength(4));
  expect(passed).toEqual([]);
});

test('a host of NO_PROXY is asked directly', async () => {
  throughProxy();
  process.env.NO_PROXY = host;
  const error = await asking(`http://${host}:${port}`, (service) => service.lines.list().catch((each) => each));
  expect((error as ServiceError).code).toBe('network');
  expect(passed).toEqual([]);
});
