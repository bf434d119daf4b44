import {
  createExchanger,
  defaultLimits,
  type Exchanger,
  type Limits,
  type Received,
  type Sent,
} from '../transport/exchange.ts';

/** A document or a pair of tokens is small and made at once. */
export const defaultOAuthLimits: Limits = { ...defaultLimits, bodyBytes: 256 * 1024, connections: 4 };

/** Connections to wherever the discovery document says that the endpoints are. */
export interface Connections {
  exchange(address: string, sent: Omit<Sent, 'path'>): Promise<Received>;
  close(): Promise<void>;
}

export function createConnections(limits: Limits): Connections {
  const exchangers = new Map<string, Exchanger>();
  return {
    exchange(address, sent) {
      const { origin, pathname, search } = new URL(address);
      const exchanger = exchangers.get(origin) ?? createExchanger(origin, limits);
      exchangers.set(origin, exchanger);
      return exchanger.exchange({ ...sent, path: pathname + search }, undefined);
    },
    async close() {
      await Promise.all([...exchangers.values()].map((exchanger) => exchanger.close()));
      exchangers.clear();
    },
  };
}
