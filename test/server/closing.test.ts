import { connect } from 'node:net';
import { afterAll, expect, test } from 'vitest';
import { createWorld, secret, until } from '../world.ts';

const world = await createWorld({ backend: 'postgres', workers: null });
afterAll(() => world.close());

test('a delivery on a connection that is still open while the receiver closes is taken like any other', async () => {
  const post = (callId: string) => {
    const body = JSON.stringify({ callId });
    const head = `POST /hooks/${secret}/AccountEndedCalls HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}`;
    return `${head}\r\n\r\n${body}`;
  };
  const locker = await world.context.database.pool.connect();
  let answered = '';
  try {
    await locker.query('begin');
    await locker.query('lock table ops.deliveries in share mode');
    const socket = connect(world.receiver.port, '127.0.0.1', () => socket.write(post('1783386668.1')));
    const ended = new Promise((resolve) => socket.on('close', resolve));
    socket.on('data', (data) => {
      answered += data;
    });
    await until(async () => (await insertsWaiting()) > 0);
    const closed = world.receiver.close();
    socket.write(post('1783386668.2'));
    await until(async () => (await insertsWaiting()) > 1);
    await locker.query('commit');
    await Promise.all([closed, ended]);
  } finally {
    locker.release();
  }
  expect(answered.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 202', 'HTTP/1.1 202']);
  expect(await world.value('select count(*)::integer from ops.deliveries')).toBe(2);
});

const insertsWaiting = async () =>
  Number(
    await world.value(
      `select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
         and query like '%insert into ops.deliveries%'`,
    ),
  );
