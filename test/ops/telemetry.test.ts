import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { createSandbox } from '../../src/sandbox/sandbox.ts';
import { type Command, trunkline } from '../credentials/commands.ts';
import { backends, redisUrlOf } from '../stores/backends.ts';
import { migratedDatabase } from '../world/database.ts';
import { until } from '../world.ts';

const sandbox = await createSandbox({ calls: 1, threads: 1 });
afterAll(() => sandbox.close());
const secret = 'of-the-telemetry-test-0123456789';
const text = 'What nobody else may read';
const number = '17185550433';

interface Attribute {
  readonly key: string;
  readonly value: { readonly stringValue?: string };
}

/** As OTLP's JSON has it. */
interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly attributes: readonly Attribute[];
  /** The attribute trunkline.process of its resource. */
  readonly process: string | undefined;
}

/** An OpenTelemetry collector: the JSON encoding of OTLP over HTTP. */
async function startCollector() {
  const bodies: string[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    if (request.url === '/v1/traces') bodies.push(Buffer.concat(chunks).toString());
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const resources = () => bodies.flatMap((body) => JSON.parse(body).resourceSpans);
  return {
    /** Of a process that sends each span here soon after it ended. */
    environment: {
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_BSP_SCHEDULE_DELAY: '50',
    },
    bodies,
    spans: (): ReceivedSpan[] =>
      resources().flatMap(({ resource, scopeSpans }) =>
        scopeSpans.flatMap(({ spans }: { spans: ReceivedSpan[] }) =>
          spans.map((span) => ({ ...span, process: attributeOf(resource.attributes, 'trunkline.process') })),
        ),
      ),
    resourceAttributes: (): Attribute[] => resources().flatMap(({ resource }) => resource.attributes),
  };
}

function attributeOf(attributes: readonly Attribute[], name: string): string | undefined {
  return attributes.find(({ key }) => key === name)?.value.stringValue;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** A receiver and a worker, in processes of their own. */
async function startProcesses(environment: Environment, ofWeb: Environment = {}) {
  const settings = {
    WEBHOOK_SECRET: secret,
    API_BASE_URL: sandbox.url,
    API_KEY: sandbox.apiKey,
    RULES_MODE: 'off',
    PORT: '0',
    ...environment,
  };
  const [web, worker] = (['web', 'worker'] as const).map((name) => {
    const given = Object.entries({ ...settings, ...(name === 'web' && ofWeb) });
    const defined = given.filter((entry): entry is [string, string] => entry[1] !== undefined);
    return trunkline(Object.fromEntries(defined), name, '--json');
  }) as [Command, Command];
  await Promise.all([web, worker].map((each) => until(() => each.out().includes('\n'), each.err)));
  return { web, worker, url: JSON.parse(web.out()).url as string };
}

/** A text arrives at the service, and its webhook at the receiver. Resolves to its id. */
async function deliverText(url: string): Promise<number> {
  const { id, line } = await sandbox.emit.sms({ number, text, announce: false });
  const answer = await fetch(`${url}/hooks/${secret}/AccountSMS`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ id, direction: 'received', fromNumber: number, toNumber: line }),
  });
  expect(answer.status).toBe(202);
  return id;
}

async function stop({ process: child, ended }: Command): Promise<void> {
  child.kill('SIGTERM');
  expect(await ended).toBe(0);
}

/** The spans of the trace that begins with the receipt of a delivery; none before that has arrived. */
function traceOfDelivery(spans: readonly ReceivedSpan[]): readonly ReceivedSpan[] {
  const post = spans.find(({ name }) => name.startsWith('POST /hooks/'));
  return spans.filter(({ traceId }) => traceId === post?.traceId);
}

describe.each(backends)('with queues in %s', (backend) => {
  test('one trace leads from the delivery to its row, and holds no content, number or token', async () => {
    await using database = await migratedDatabase();
    const collector = await startCollector();
    const { web, worker, url } = await startProcesses({
      DATABASE_URL: database.url,
      REDIS_URL: redisUrlOf(backend),
      ...collector.environment,
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
    });
    const foreign = 'f'.repeat(32);
    const headers = { traceparent: `00-${foreign}-${'f'.repeat(16)}-01` };
    expect((await fetch(`${url}/hooks/not-the-secret/AccountSMS`, { method: 'POST', headers })).status).toBe(404);
    await deliverText(url);
    const trace = () => traceOfDelivery(collector.spans());
    await expect
      .poll(() => new Set(trace().map(({ process: kind, name }) => `${kind}: ${name}`)))
      .toEqual(
        new Set([
          'web: POST /hooks/:token/*',
          'web: store delivery',
          'web: enqueue conversations',
          'web: addBulk conversations',
          'worker: process conversations',
          'worker: read thread',
          'worker: API conversations.read',
          'worker: write thread',
        ]),
      );
    await Promise.all([stop(web), stop(worker)]);

    const spans = trace();
    const ids = new Set(spans.map(({ spanId }) => spanId));
    const post = spans.find(({ name }) => name.startsWith('POST /hooks/'));
    expect(spans.filter(({ parentSpanId }) => !parentSpanId || !ids.has(parentSpanId))).toEqual([post]);
    const write = spans.find(({ name }) => name === 'write thread');
    const stored = spans.find(({ name }) => name === 'store delivery');
    expect(attributeOf(write?.attributes ?? [], 'trunkline.delivery.id')).toBe('1');
    expect(attributeOf(stored?.attributes ?? [], 'trunkline.delivery.id')).toBe('1');

    const resource = collector.resourceAttributes();
    expect(attributeOf(resource, 'service.name')).toBe('trunkline');
    expect(attributeOf(resource, 'service.version')).toMatch(/^\d+\.\d+\.\d+/);
    expect(attributeOf(resource, 'deployment.environment.name')).toBe('test');
    const everything = collector.bodies.join();
    expect(everything).not.toContain(foreign);
    const line = await database.value('select line from warehouse.sms_conversations');
    for (const kept of [secret, text, number, line, sandbox.apiKey, encodeURIComponent(text)]) {
      expect(everything).not.toContain(kept);
    }
    // No name of a job or path holds a number in another form either. Times, ids of spans and of processes may have such digits.
    const uuid = /\b[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\b/g;
    const others = everything.replace(/"(?:\w*Id|\w*UnixNano|asInt)":"\w+"/g, '').replace(uuid, '');
    expect(others).not.toMatch(/\d{7}/);
  });
});

test('a read whose job was lost continues the trace of its delivery', async () => {
  await using database = await migratedDatabase();
  const collector = await startCollector();
  const { web, worker, url } = await startProcesses(
    {
      DATABASE_URL: database.url,
      ...collector.environment,
    },
    // No job of this receiver arrives.
    { REDIS_URL: 'redis://127.0.0.1:1' },
  );
  await deliverText(url);
  const ofWorker = () => traceOfDelivery(collector.spans()).filter((span) => span.process === 'worker');
  await expect
    .poll(() => new Set(ofWorker().map(({ name }) => name)))
    .toEqual(new Set(['read thread', 'API conversations.read', 'write thread']));
  await Promise.all([stop(web), stop(worker)]);
});

test('a stop sends the spans that are left', async () => {
  await using database = await migratedDatabase();
  const collector = await startCollector();
  // It waits for half a second at most, which a busy machine may exceed.
  await until(async () => {
    const { web, worker, url } = await startProcesses({
      DATABASE_URL: database.url,
      ...collector.environment,
      OTEL_BSP_SCHEDULE_DELAY: '600000',
    });
    await deliverText(url);
    await Promise.all([stop(web), stop(worker)]);
    return collector.spans().some(({ name }) => name === 'store delivery');
  });
});

test('a collector that takes connections and never answers disturbs nothing, and does not hold up the stop', async () => {
  await using database = await migratedDatabase();
  const silent = createServer(() => undefined).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  onTestFinished(() => {
    silent.closeAllConnections();
    silent.close();
  });
  const asked = once(silent, 'request');
  const { web, worker, url } = await startProcesses({
    DATABASE_URL: database.url,
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(silent.address() as AddressInfo).port}`,
    OTEL_BSP_SCHEDULE_DELAY: '50',
  });
  const id = await deliverText(url);
  const rows = () => database.value('select count(*)::integer from warehouse.sms_messages where message_id = $1', id);
  await until(async () => (await rows()) === 1, worker.err);
  await asked;
  await Promise.all([stop(web), stop(worker)]);
  for (const { err } of [web, worker]) expect(err()).toContain('"msg":"Stopped"');
});

test('an unreachable collector is told once in the log', async () => {
  await using database = await migratedDatabase();
  const { web, worker, url } = await startProcesses({
    DATABASE_URL: database.url,
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1',
    OTEL_EXPORTER_OTLP_TIMEOUT: '100',
    OTEL_BSP_SCHEDULE_DELAY: '50',
  });
  await deliverText(url);
  await until(() => worker.err().includes('Traces cannot be sent'), worker.err);
  await Promise.all([stop(web), stop(worker)]);
  expect(web.err().split('Traces cannot be sent').length).toBeLessThanOrEqual(2);
});

test('nothing of it is loaded, and nothing stored, unless an endpoint is set', async () => {
  await using database = await migratedDatabase();
  // Lists the loaded CommonJS modules at the exit; those of OpenTelemetry and its two users are such. The metrics library loads its API.
  const list = `data:text/javascript,import{createRequire}from'node:module';const{cache}=createRequire('${import.meta.url}');process.on('exit',()=>console.error('loaded',Object.keys(cache).filter((f)=>/node_modules.(?:@opentelemetry.(?!api.)|@fastify.otel|bullmq-otel)/.test(f)).length,Object.keys(cache).length))`;
  const { web, worker, url } = await startProcesses({
    DATABASE_URL: database.url,
    NODE_OPTIONS: `--import=${JSON.stringify(list)}`,
  });
  await deliverText(url);
  await Promise.all([stop(web), stop(worker)]);
  for (const { err } of [web, worker]) expect(err()).toMatch(/loaded 0 [1-9]\d\d/);
  expect(await database.value('select count(traceparent)::integer from ops.deliveries')).toBe(0);
});
