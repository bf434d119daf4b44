import { connect, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** A client that writes what it likes. */
export interface Client {
  readonly socket: Socket;
  /** All that it was sent. */
  said: string;
  /** The server ended the connection. */
  isEnded: boolean;
}

/** Connects; the lines are those of the head of a request. */
export function open(port: number, ...lines: string[]): Client {
  const socket = connect(port, '127.0.0.1');
  const client: Client = { socket, said: '', isEnded: false };
  const end = () => {
    client.isEnded = true;
  };
  socket.on('data', (data) => {
    client.said += data;
  });
  socket.on('error', () => undefined);
  socket.on('end', end).on('close', end);
  onTestFinished(() => void socket.destroy());
  if (lines.length > 0) socket.write(`${lines.join('\r\n')}\r\n\r\n`);
  return client;
}

/** The statuses of the answers so far. */
export const answersOf = ({ said }: Client): string[] => said.match(/(?<=HTTP\/1\.1 )\d+/g) ?? [];
