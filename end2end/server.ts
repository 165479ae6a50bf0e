// The real program, on a database of its own, and a client for its API.

import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

const PROGRAM = resolve(process.env.BATON_BIN ?? join(import.meta.dirname, '../target/debug/baton'));

export class Server {
  readonly password = randomBytes(12).toString('hex');
  readonly holderToken = `baton_${randomBytes(32).toString('base64url')}`;
  private readonly folder = mkdtempSync(join(tmpdir(), 'baton-end2end-'));
  private readonly database = `sqlite://${join(this.folder, 'baton.db')}`;
  private process?: ChildProcess;
  private said = '';

  private constructor(private readonly port: number) {}

  static async start(): Promise<Server> {
    const server = new Server(await freePort());
    await server.start();
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** How many lines it said that look like this. */
  lines(pattern: RegExp): number {
    return this.said.split('\n').filter((line) => pattern.test(line)).length;
  }

  get pid(): number {
    return this.process!.pid!;
  }

  /** Also starts it again, on the same port and database. */
  async start(): Promise<void> {
    this.process = spawn(PROGRAM, ['serve', '--listen', `127.0.0.1:${this.port}`, '--database', this.database], {
      cwd: this.folder,
      env: { ...process.env, BATON_ADMIN_PASSWORD: this.password, BATON_HOLDER_TOKEN: this.holderToken },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.process.on('error', (error) => (this.said += `${error}\n`));
    for (const stream of [this.process.stdout!, this.process.stderr!]) {
      stream.on('data', (text) => (this.said += text));
    }
    const deadline = Date.now() + 20_000;
    while (!(await this.isReady())) {
      if (this.process.exitCode !== null || this.process.pid === undefined || Date.now() > deadline) {
        throw new Error(`${PROGRAM} did not start:\n${this.said}`);
      }
      await sleep(50);
    }
  }

  private async isReady(): Promise<boolean> {
    return fetch(`${this.url}/readyz`).then((response) => response.ok, () => false);
  }

  /** As an operator stops it: it must be gone within 5 s. */
  async stop(): Promise<void> {
    const stopped = await this.signal('SIGTERM', 5_000);
    rmSync(this.folder, { recursive: true, force: true });
    if (!stopped) throw new Error(`still running 5 s after SIGTERM:\n${this.said}`);
  }

  /** As a crash ends it. */
  async kill(): Promise<void> {
    await this.signal('SIGKILL', 5_000);
  }

  private async signal(name: NodeJS.Signals, patience_ms: number): Promise<boolean> {
    const child = this.process;
    if (!child || child.exitCode !== null || child.signalCode !== null) return true;
    const gone = once(child, 'exit').then(() => true);
    child.kill(name);
    const stopped = await Promise.race([gone, sleep(patience_ms, false)]);
    if (!stopped) child.kill('SIGKILL');
    return stopped;
  }

  /** Raises every generation, as after a restored backup, while the server is away. */
  async raiseFloor(reason: string): Promise<void> {
    await this.kill();
    const args = ['raise-floor', '--reason', reason, '--database', this.database];
    await promisify(execFile)(PROGRAM, args, { cwd: this.folder });
    await this.start();
  }

  /** A token made by the command line, beside the running server. */
  async token(role: string): Promise<string> {
    const args = ['token', 'create', '--name', `${role}-${randomBytes(4).toString('hex')}`, '--role', role];
    const { stdout } = await promisify(execFile)(PROGRAM, [...args, '--database', this.database], { cwd: this.folder });
    return stdout.trim();
  }

  /** A user made by the command line, beside the running server. */
  async user(name: string, role: string, password: string): Promise<void> {
    const args = ['user', 'create', name, '--role', role, '--password-stdin', '--database', this.database];
    const made = promisify(execFile)(PROGRAM, args, { cwd: this.folder });
    made.child.stdin!.end(password);
    await made;
  }

  get holder(): Api {
    return new Api(this.url, this.holderToken);
  }

  operator(): Promise<Api> {
    return this.api('operator');
  }

  admin(): Promise<Api> {
    return this.api('admin');
  }

  private async api(role: string): Promise<Api> {
    const token = await this.token(role);
    // The server notices new tokens within a second.
    const known = () =>
      fetch(`${this.url}/api/v1/leases`, { headers: { authorization: `Bearer ${token}` } }).then((response) => response.ok);
    while (!(await known())) await new Promise((resolve) => setTimeout(resolve, 20));
    return new Api(this.url, token);
  }
}

/** The parts of a lease that the tests look at. */
export type Lease = { lease: string; state: string; holder: string | null; generation: number; remaining_ms: number; attempt: number; now: string };

/** The parts of an entry of the history that the tests look at. */
export type Handover = {
  seq: number;
  event: string;
  reason: string;
  incident: string | null;
  actor: string;
  holder: string | null;
  generation: number;
};

export class Api {
  constructor(
    private readonly url: string,
    private readonly token: string,
  ) {}

  acquire(lease: string, holder: string, more: object = {}): Promise<Lease> {
    return this.call('POST', `leases/${lease}/acquire`, { holder, ttl_ms: 60_000, ...more });
  }

  renew({ lease, holder, generation }: Lease, more: object = {}): Promise<Lease> {
    return this.call('POST', `leases/${lease}/renew`, { holder, generation, ...more });
  }

  release({ lease, holder, generation }: Lease): Promise<Lease> {
    return this.call('POST', `leases/${lease}/release`, { holder, generation });
  }

  forceRelease({ lease, generation }: Lease, reason: string): Promise<Lease> {
    return this.call('POST', `leases/${lease}/force-release`, { expected_generation: generation, reason });
  }

  pause(lease: string, reason: string): Promise<Lease> {
    return this.call('POST', `leases/${lease}/pause`, { reason });
  }

  protect(lease: string, reason: string): Promise<Lease> {
    return this.call('POST', `leases/${lease}/protect`, { reason });
  }

  /** The newest entry of a lease's history. */
  async newest(lease: string): Promise<Handover> {
    const response = await fetch(`${this.url}/api/v1/handovers?lease=${lease}&limit=1`, {
      headers: { authorization: `Bearer ${this.token}` },
    });
    return (await response.json()).items[0];
  }

  operate(lease: string, act: string, body: object): Promise<Lease> {
    return this.call('POST', `leases/${lease}/${act}`, body);
  }

  get(lease: string): Promise<Lease> {
    return this.call('GET', `leases/${lease}`);
  }

  async call<T = Lease>(method: string, path: string, body?: object): Promise<T> {
    const response = await fetch(`${this.url}/api/v1/${path}`, {
      method,
      headers: { authorization: `Bearer ${this.token}`, ...(body && { 'content-type': 'application/json' }) },
      body: body && JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return JSON.parse(text);
  }
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return port;
}
