import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const places = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'].map(
  (name) => `/usr/bin/${name}`,
);

/** Where the browser of this machine is: as CHROMIUM says, else where Debian puts it; undefined when there is none. */
export function browserPath(): string | undefined {
  return [process.env.CHROMIUM, ...places].find((path) => path !== undefined && existsSync(path));
}

/** A headless browser that asks nothing of the network by itself. */
export function launchBrowser(): Promise<Browser> {
  const executablePath = browserPath();
  if (executablePath === undefined) throw new Error('There is no Chromium: the test command installs it.');
  return chromium.launch({
    executablePath,
    args: [
      ...['--no-sandbox', '--headless', '--disable-gpu', '--disable-quic', '--no-first-run'],
      ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
    ],
  });
}
