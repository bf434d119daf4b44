import fastify from 'fastify';
import { Pool } from 'pg';

// The usual way of accepting durably: one INSERT per request, committed before the answer, on the driver's own pool.
const pool = new Pool({ connectionString: process.env.DATABASE_URL });
const app = fastify();
app.post('/*', async (request, reply) => {
  await pool.query({
    name: 'insert',
    text: 'insert into plain_deliveries (event_type, body) values ($1, $2)',
    values: ['AccountSMS', JSON.stringify(request.body)],
  });
  return reply.code(202).send({ received: 1 });
});
console.log(JSON.stringify({ url: await app.listen({ port: 0, host: '127.0.0.1' }) }));
process.once('SIGTERM', () => process.exit());
