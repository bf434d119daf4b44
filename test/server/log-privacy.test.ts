import { afterAll, expect, test } from 'vitest';
import { createSealer } from '../../src/credentials/sealer.ts';
import { adminToken, createWorld, secret, until } from '../world.ts';
import { open } from './sockets.ts';

const previousSecret = 'a-previous-secret-of-log-privacy';
const world = await createWorld({ backend: 'postgres', previousSecret });
const { sandbox, receiver, value } = world;
afterAll(() => world.close());

/** Whatever is said here must not be repeated in the log, at any level. */
const said = {
  text: 'MEET-ME-AT-NOON',
  number: '15557654321',
  name: 'OLIVIA-THE-CALLER',
  media: 'https://media.example/photo.jpg?signature=MEDIASECRET',
  recording: 'https://media.example/op.mp3?signature=RECORDINGSECRET',
  header: 'AGENT-OF-A-SENDER',
};

test('the log repeats no token, body, phone number or address', async () => {
  await sandbox.emit.sms({ number: said.number, text: said.text, media: ['photo.jpg'] });
  const artefacts = { recorded: true, recordingAfterMs: 0, transcriptAfterMs: 0 };
  const { id } = await sandbox.emit.call({
    ...{ direction: 'inbound', status: 'answered', number: said.number, callerName: said.name, ...artefacts },
  });
  await world.settled();
  await until(async () => Number(await value('select count(*) from secrets.links where owner = $1', id)) > 0);

  const bodies = [
    {
      id: 1,
      direction: 'received',
      fromNumber: said.number,
      toNumber: '15550009999',
      message: said.text,
      media: [said.media],
    },
    { callId: '1783386668.1', recordingUrl: said.recording, callerNumber: said.number, externalCallerName: said.name },
    `broken { ${said.text} ${said.recording}`,
    `${said.text}\0`,
    'x'.repeat(1_048_577),
  ];
  for (const body of bodies) await world.deliver('AccountSMS', body, { 'user-agent': said.header });
  await fetch(`${receiver.url}/hooks/wrong-${secret}/AccountSMS?message=${said.text}`, {
    method: 'POST',
    body: said.text,
  });
  await fetch(`${receiver.url}/hooks/${secret}/%zz?message=${said.text}`, { method: 'POST', body: said.text });
  await fetch(`${receiver.url}/metrics`, { headers: { authorization: `Bearer ${adminToken}x` } });
  const broken = open(receiver.port, `POST /hooks/${secret}/AccountSMS NONSENSE/9`, '', said.text);
  await until(() => broken.isEnded);

  // Else their reads would fail first, and the service be given a rest before this call is asked for.
  await world.settled();
  sandbox.faults({ kind: 'answer' });
  await world.deliver('AccountEndedCalls', { callId: id, callerNumber: said.number });
  const attempts = `select attempts from ops.sync_targets where kind = 'call' and key = $1`;
  await until(async () => Number(await value(attempts, id)) > 0);
  sandbox.faults();

  const log = world.logged();
  expect(log).toContain('"level"');
  const links = createSealer(sandbox.apiKey);
  const rows = await world.query<{ link: string; place: string }>(
    `select link, concat_ws(' ', kind, owner, part) as place from secrets.links`,
  );
  const urls = rows.map(({ link, place }) => String(links.open(link, place)));
  expect(urls.length).toBeGreaterThan(0);
  const secrets = [secret, previousSecret, adminToken, sandbox.apiKey, ...urls, ...Object.values(said)];
  expect(secrets.filter((each) => log.includes(each))).toEqual([]);
  expect(log).not.toMatch(/\b1555\d{7}\b/);
});

test('the log is silent while deliveries are accepted', async () => {
  await world.settled();
  const before = world.logged().length;
  for (let at = 0; at < 20; at += 1) await world.deliver('AccountSMS', { nothing: at });
  const lines = world
    .logged()
    .slice(before)
    .split('\n')
    .filter((line) => line !== '' && !/"level":(10|20)/.test(line));
  expect(lines).toEqual([]);
});

test('the queue holds ids only', async () => {
  const jobs = (await Promise.all(world.context.queues.bull.map((queue) => queue.getJobs()))).flat();
  for (const job of jobs) expect(Object.keys(job?.data ?? {}).sort()).toEqual(['key', 'kind']);
  expect(JSON.stringify(jobs.map((job) => job?.data))).not.toContain(said.text);
});
