/** Counts what it is sent, and ends with the process that started it. */

import fastify from 'fastify';

const app = fastify({ logger: false });
let made = 0;

app.post<{ Body: { readonly target: string; readonly params: object } }>('/jobs', (request, reply) => {
  made++;
  const { target, params } = request.body;
  void reply.code(201).send({ id: String(made), status: 'queued', target, params });
});
app.get('/made', () => ({ made }));

process.once('disconnect', () => process.exit(0));
process.send?.(await app.listen({ port: 0, host: '127.0.0.1' }));
