import fastify from 'fastify';
import { Pool } from 'pg';
import { Pool as Http } from 'undici';

// The plain way: each delivered call is read through the API, and one row of it is upserted before the answer.
const api = new Http(process.env.API_BASE_URL ?? '', { connections: 32 });
const pool = new Pool({ connectionString: process.env.DATABASE_URL, application_name: 'plain' });
const app = fastify();
app.post<{ Body: { callId: string } }>('/*', async (request, reply) => {
  const answer = await api.request({
    path: `/api/public/v1/calls/${request.body.callId}`,
    method: 'GET',
    headers: { authorization: `Bearer ${process.env.API_KEY}` },
  });
  const { data: call } = (await answer.body.json()) as { data: Record<string, unknown> };
  await pool.query({
    name: 'upsert',
    text: `insert into plain_calls (call_id, started_at, ended_at, direction, status, caller_number, called_number, dialled_number,
        duration_seconds, talk_seconds, body)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
      on conflict (call_id) do update set started_at = excluded.started_at, ended_at = excluded.ended_at, direction = excluded.direction,
        status = excluded.status, caller_number = excluded.caller_number, called_number = excluded.called_number,
        dialled_number = excluded.dialled_number, duration_seconds = excluded.duration_seconds, talk_seconds = excluded.talk_seconds,
        body = excluded.body`,
    values: [
      ...[call.id, call.startTime, call.endTime, call.direction, call.status, call.callerNumber, call.calledNumber],
      ...[call.dialledNumber, call.durationSeconds, call.talkTimeSeconds, JSON.stringify(call)],
    ],
  });
  return reply.code(200).send({ received: 1 });
});
console.log(JSON.stringify({ url: await app.listen({ port: 0, host: '127.0.0.1' }) }));
process.once('SIGTERM', () => process.exit());
