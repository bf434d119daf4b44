import fastify from 'fastify';

// The limit of accepting: Fastify parses the JSON and answers 202.
const app = fastify();
app.post('/*', (_request, reply) => reply.code(202).send({ received: 1 }));
console.log(JSON.stringify({ url: await app.listen({ port: 0, host: '127.0.0.1' }) }));
process.once('SIGTERM', () => process.exit());
