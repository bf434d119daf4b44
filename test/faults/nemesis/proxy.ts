import { once } from 'node:events';
import { createServer, connect as open, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../deployment/ports.ts';
import { createWatch, type Trap } from './trap.ts';

/** How a test, or a suite, is told what to close after it, whatever became of it. The last to open closes first. */
export type OnOpen = (end: () => Promise<void>) => void;

/** A wire between two parts: TCP passes through it as it is, until it is told to go wrong. */
export interface Wire {
  readonly port: number;
  /** The same address through this wire. */
  through(url: string): string;
  /** Delays every byte, in both directions, by so many milliseconds. */
  delay(ms: number): void;
  /** Resets every connection; new ones pass. */
  cut(): void;
  /** Forgets every connection as a firewall does: both ends stand, and nothing passes; new ones pass. */
  forget(): void;
  /** Springs once, when the trap's bytes pass; then the connection they came by is reset. */
  set(trap: Trap, onSprung: () => void): void;
  /** Takes a trap away that has not sprung. */
  disarm(): void;
}

/** Opens a wire to a port of this machine. */
export async function openWire(target: number, onOpen: OnOpen): Promise<Wire> {
  const sockets = new Set<Socket>();
  const forgotten = new WeakSet<Socket>();
  let delayMs = 0;
  let armed: { readonly trap: Trap; readonly onSprung: () => void } | undefined;

  function reset(): void {
    for (const socket of sockets) socket.resetAndDestroy();
  }

  const server = createServer((near) => {
    const far = open(target, '127.0.0.1');
    const pair = [near, far] as const;
    const watch = createWatch(() => armed?.trap);
    const hangUp = () => {
      if (forgotten.has(near)) return;
      for (const socket of pair) socket.destroy();
    };
    for (const socket of pair) {
      sockets.add(socket.setNoDelay(true));
      socket.on('error', hangUp).on('close', () => {
        sockets.delete(socket);
        hangUp();
      });
    }
    function spring(): void {
      const sprung = armed;
      armed = undefined;
      sprung?.onSprung();
      for (const socket of pair) socket.resetAndDestroy();
    }
    function pump(from: Socket, to: Socket, isQuestion: boolean): void {
      let last = Promise.resolve();
      let pending = 0;
      const write = (bytes: Buffer, then?: () => void) => {
        if (!to.write(bytes, then) && !from.isPaused()) {
          from.pause();
          to.once('drain', () => from.resume());
        }
      };
      from.on('data', (bytes: Buffer) => {
        if (forgotten.has(from)) return;
        const verdict = watch(bytes, isQuestion);
        const pass = () => {
          if (verdict.passes.length > 0) write(verdict.passes, verdict.springs ? spring : undefined);
          else if (verdict.springs) spring();
        };
        if (delayMs === 0 && pending === 0) return pass();
        pending += 1;
        const wait = delayMs;
        const began = performance.now();
        last = last
          .then(() => sleep(Math.max(0, began + wait - performance.now())))
          .then(() => {
            pending -= 1;
            pass();
          });
      });
      from.on('end', () => void last.then(() => forgotten.has(from) || to.end()));
    }
    pump(near, far, true);
    pump(far, near, false);
  });
  const port = await freePort();
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  onOpen(async () => {
    reset();
    server.close();
  });
  return {
    port,
    through(url) {
      const address = new URL(url);
      address.port = String(port);
      // An origin is written without the slash that `href` puts behind it.
      return address.href.replace(/\/$/, url.endsWith('/') ? '/' : '');
    },
    delay: (ms) => {
      delayMs = ms;
    },
    cut: reset,
    forget() {
      for (const socket of sockets) forgotten.add(socket);
    },
    set(trap, onSprung) {
      armed = { trap, onSprung };
    },
    disarm() {
      armed = undefined;
    },
  };
}
