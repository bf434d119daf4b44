import { type OnOpen, openWire, type Wire } from './proxy.ts';

/** The wires of a deployment: all that passes between two of its parts passes through one. */
export interface Wires {
  /** From whoever delivers to the first web. */
  readonly toWeb: Wire;
  readonly webToPostgres: Wire;
  readonly webToQueue: Wire;
  readonly webToService: Wire;
  readonly workerToPostgres: Wire;
  readonly workerToQueue: Wire;
  readonly workerToService: Wire;
}

/** Where the parts listen. */
export interface Ends {
  readonly webPort: number;
  readonly postgresUrl: string;
  readonly redisUrl: string | undefined;
  readonly serviceUrl: string;
}

export async function openWires({ webPort, postgresUrl, redisUrl, serviceUrl }: Ends, onOpen: OnOpen): Promise<Wires> {
  const to = (url: string) => openWire(Number(new URL(url).port), onOpen);
  const webToPostgres = await to(postgresUrl);
  const workerToPostgres = await to(postgresUrl);
  return {
    toWeb: await openWire(webPort, onOpen),
    webToPostgres,
    // Without a Redis, the queue is in Postgres, and its statements pass where all others do.
    webToQueue: redisUrl === undefined ? webToPostgres : await to(redisUrl),
    webToService: await to(serviceUrl),
    workerToPostgres,
    workerToQueue: redisUrl === undefined ? workerToPostgres : await to(redisUrl),
    workerToService: await to(serviceUrl),
  };
}
