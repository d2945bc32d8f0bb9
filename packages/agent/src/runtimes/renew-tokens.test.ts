import { randomUUID } from 'node:crypto'
import { mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { manualClock, openLog, silentLog, type ManualClock } from '@windlass/kit'
import { openKube, type ClusterAccess, type Kube } from '@windlass/kube'
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import { openFakeKube, type FakeKube, type KubeCall } from '../../test/support/fake-kube.ts'
import { openClusters, type Clusters } from './clusters.ts'
import { openTokenRenewal } from './renew-tokens.ts'
import { readRuntimeFiles, type RuntimeEntry, type RuntimeFiles } from './runtime-files.ts'
import { folderTokenStore, secretTokenStore, type TokenStore } from './token-store.ts'

const HOUR = 3_600_000
const START = Date.UTC(2026, 0, 1)
const FILE = 'far.runtime.yaml'

let clock: ManualClock
/** The cluster of the runtime, and that of the agent with the Secret of its files. */
let far: FakeKube
let home: FakeKube
let folder: string
let issued: string[]
/** Answers a call for a token instead of the cluster. */
let refuse: ((call: KubeCall) => { status: number; reason: string } | undefined) | undefined

beforeEach(async () => {
  clock = manualClock(START)
  ;[far, home] = [await openFakeKube(), await openFakeKube()]
  folder = mkdtempSync(join(tmpdir(), 'renewal-'))
  issued = []
  refuse = undefined
  far.intercept = (call) => {
    if (call.plural !== 'serviceaccounts') return undefined
    const refused = refuse?.(call)
    if (refused !== undefined) return refused
    const token = tokenOf(clock.now(), `issued-${issued.length + 1}`)
    issued.push(token)
    const status = { token, expirationTimestamp: new Date(clock.now() + HOUR).toISOString() }
    return { status: 201, page: JSON.stringify({ status }) }
  }
})
afterEach(async () => {
  await far[Symbol.asyncDispose]()
  await home[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true })
})

/** Returns a token of one hour, as the API server issues it. */
function tokenOf(issuedAt: number, id: string, account = 'runner'): string {
  const claims = {
    iat: issuedAt / 1000,
    exp: (issuedAt + HOUR) / 1000,
    'kubernetes.io': { namespace: 'builds', serviceaccount: { name: account } },
  }
  return ['e30', Buffer.from(JSON.stringify(claims)).toString('base64url'), id].join('.')
}

const fileText = (token: string): string =>
  `type: runtime\nname: far/builds\nhost: ${far.url}\ntoken: ${token}\npolicy: { ALLOWED_SECRETS: team }\n`
/** Writes the folder, as the kubelet does some time after a change of the Secret. */
const mount = (token: string): void => writeFileSync(join(folder, FILE), fileText(token))
const storeSecret = (token: string): void =>
  void home.objects.set('secrets/runnerconf', {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'runnerconf', resourceVersion: '1' },
    data: { [FILE]: Buffer.from(fileText(token)).toString('base64'), other: 'a2VwdA==' },
  })
const storedText = (): string => {
  const { data } = home.objects.get('secrets/runnerconf') as { data: Record<string, string> }
  return Buffer.from(data[FILE] ?? '', 'base64').toString()
}
const secretStore = (): TokenStore => secretTokenStore({ kube: home.kube(), namespace: 'windlass', name: 'runnerconf' })

interface TestAgent {
  readonly clusters: Clusters
  check(): Promise<void>
  /** Returns the token that a call to the cluster uses. */
  used(): Promise<string | undefined>
  /** Resolves once the agent has read its folder again. */
  reread(): Promise<void>
  log(): Record<string, unknown>[]
}

/** Opens an agent. `here` is its own cluster. */
function openAgent(store: TokenStore = secretStore(), here?: ClusterAccess): TestAgent {
  const logFile = join(folder, `${randomUUID()}.log`)
  const log = openLog({ level: 'info', name: 'agent', fd: openSync(logFile, 'w') })
  let reads = 0
  const read = (): RuntimeFiles => {
    reads += 1
    return readRuntimeFiles(folder, { insecure: false, here })
  }
  const openOne = ({ access }: RuntimeEntry): Kube => openKube({ access, log: silentLog, clock })
  const clusters = openClusters({ dir: folder, read, openKube: openOne, clock, log: silentLog })
  const stop = new AbortController()
  const following = clusters.follow(stop.signal)
  onTestFinished(async () => {
    stop.abort()
    await following
    clusters.close()
  })
  return {
    clusters,
    check: openTokenRenewal({ clusters, store, clock, log, spread: 0 }).check,
    async used() {
      await clusters.find('far/builds')?.kube.list({ kind: 'Pod', namespace: 'builds' })
      return far.calls.at(-1)?.token
    },
    async reread() {
      for (const before = reads; reads === before; await setTimeout(1)) clock.advance(100)
    },
    log: () =>
      readFileSync(logFile, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
        .map((line): Record<string, unknown> => JSON.parse(line)),
  }
}

const messages = (agent: TestAgent): unknown[] => agent.log().map(({ msg }) => msg)

/** Opens a Secret and a folder with a token that was issued at the start. */
function storeFirst(): string {
  const first = tokenOf(START, 'first')
  mount(first)
  storeSecret(first)
  return first
}

test('renews a token before it expires, uses the new one from the next call on, and stores it in the Secret', async () => {
  const first = storeFirst()
  const agent = openAgent()
  clock.advance(0.5 * HOUR)
  await agent.check()
  expect(await agent.used()).toBe(first)
  clock.advance(0.1 * HOUR)
  await agent.check()
  expect(far.calls.filter(({ plural }) => plural === 'serviceaccounts')).toMatchObject([
    { line: 'POST serviceaccounts/runner', token: first, body: { kind: 'TokenRequest', spec: { expirationSeconds: 3600 } } },
  ])
  expect(await agent.used()).toBe(issued[0])
  expect(storedText()).toBe(fileText(issued[0] ?? ''))
  expect(home.objects.get('secrets/runnerconf')).toMatchObject({ data: { other: 'a2VwdA==' } })
  // The kubelet updates the files later.
  await agent.reread()
  expect(await agent.used()).toBe(issued[0])
  mount(issued[0] ?? '')
  await agent.reread()
  clock.advance(0.6 * HOUR)
  await agent.check()
  expect(await agent.used()).toBe(issued[1])
  await expect
    .poll(() => messages(agent))
    .toEqual(['token renewed', 'renewed token stored', 'token renewed', 'renewed token stored'])
  expect(JSON.stringify(agent.log())).not.toContain(issued[0])
})

test('uses a token that the user attaches, whatever it renewed before', async () => {
  storeFirst()
  const agent = openAgent()
  clock.advance(0.6 * HOUR)
  await agent.check()
  const attached = tokenOf(clock.now(), 'attached')
  mount(attached)
  await agent.reread()
  expect(await agent.used()).toBe(attached)
})

test('of two agents one renews, and the other takes its token from the Secret', async () => {
  storeFirst()
  const [one, other] = [openAgent(), openAgent()]
  clock.advance(0.6 * HOUR)
  await one.check()
  await other.check()
  expect(issued).toHaveLength(1)
  expect(await other.used()).toBe(issued[0])
  await expect.poll(() => messages(other)).toEqual(['took the token that another agent renewed'])
})

test('two agents that renew at the same moment agree on the token that is stored first', async () => {
  storeFirst()
  const [one, other] = [openAgent(), openAgent()]
  clock.advance(0.6 * HOUR)
  await Promise.all([one.check(), other.check()])
  await Promise.all([one.check(), other.check()])
  expect(issued).toHaveLength(2)
  const [stored = ''] = issued.filter((token) => storedText() === fileText(token))
  expect(stored).not.toBe('')
  mount(stored)
  await Promise.all([one.reread(), other.reread()])
  expect([await one.used(), await other.used()]).toEqual([stored, stored])
})

test('tries again while the cluster is unreachable, logs it once, and continues without a gap', async () => {
  const first = storeFirst()
  const agent = openAgent()
  refuse = () => ({ status: 503, reason: 'ServiceUnavailable' })
  clock.advance(0.6 * HOUR)
  for (let count = 0; count < 3; count += 1) await agent.check()
  expect(await agent.used()).toBe(first)
  await expect.poll(() => messages(agent)).toEqual(['cannot renew the token of the runtime; retrying'])
  refuse = undefined
  clock.advance(0.3 * HOUR)
  await agent.check()
  expect(await agent.used()).toBe(issued[0])
})

test('uses a renewed token that cannot be stored, and stores the latest one when that works again', async () => {
  storeFirst()
  const agent = openAgent()
  home.intercept = ({ method }) => (method === 'PATCH' ? { status: 403, reason: 'Forbidden' } : undefined)
  clock.advance(0.6 * HOUR)
  await agent.check()
  await agent.check()
  expect(await agent.used()).toBe(issued[0])
  await expect
    .poll(() => messages(agent))
    .toEqual(['token renewed', 'cannot store the renewed token of the runtime; using it from memory and retrying'])
  clock.advance(0.6 * HOUR)
  await agent.check()
  home.intercept = () => undefined
  await agent.check()
  expect(issued).toHaveLength(2)
  expect(storedText()).toBe(fileText(issued[1] ?? ''))
  await agent.reread()
  expect(await agent.used()).toBe(issued[1])
})

const COMMAND = 'Attach the runtime again: `windlass attach runtime --runtime-name far/builds --token-lifetime SECONDS`.'

test('names an expired token, its time and the command that replaces it in the log and in failed calls', async () => {
  storeFirst()
  const agent = openAgent()
  far.intercept = () => ({ status: 401, reason: 'Unauthorized' })
  clock.advance(2 * HOUR)
  await agent.check()
  await agent.check()
  await expect
    .poll(() => agent.log())
    .toMatchObject([
      {
        runtime: 'far/builds',
        expiresAt: '2026-01-01T01:00:00.000Z',
        hint: COMMAND,
        msg: 'the token of the runtime has expired',
      },
    ])
  await expect(agent.used()).rejects.toMatchObject({
    code: 'cluster-refused',
    message: `The token for the Kubernetes API at ${far.url} expired at 2026-01-01T01:00:00.000Z.`,
    hint: COMMAND,
  })
})

test('continues while the token file of another runtime cannot be read, and logs it once', async () => {
  storeFirst()
  writeFileSync(join(folder, 'own.runtime.yaml'), 'type: runtime\nname: own\ninCluster: true\n')
  const token = (): string => readFileSync(join(folder, 'missing-token'), 'utf8')
  const agent = openAgent(secretStore(), { server: home.url, insecure: false, namespace: 'builds', token })
  clock.advance(0.6 * HOUR)
  await agent.check()
  await agent.check()
  expect(storedText()).toBe(fileText(issued[0] ?? ''))
  for (let count = 0; count < 2; count += 1) await agent.reread()
  await expect
    .poll(() => messages(agent))
    .toEqual(['cannot read the token of the runtime; retrying', 'token renewed', 'renewed token stored'])
})

test('does not renew a token that does not expire', async () => {
  storeSecret('permanent')
  mount('permanent')
  const agent = openAgent()
  clock.advance(1000 * HOUR)
  await agent.check()
  expect([issued, messages(agent)]).toEqual([[], []])
})

test('stores the token in the file outside of a pod, and reports a file that is not in the Secret', async () => {
  const first = tokenOf(START, 'first')
  mount(first)
  const agent = openAgent(folderTokenStore(folder))
  const elsewhere = openAgent()
  clock.advance(0.6 * HOUR)
  await elsewhere.check()
  await expect
    .poll(() => messages(elsewhere).at(-1))
    .toBe('the file of the runtime is not in the store: its renewed token is lost at the next start')
  await agent.check()
  expect(readFileSync(join(folder, FILE), 'utf8')).toBe(fileText(issued[1] ?? ''))
})

test.each([
  ['a token of 900 KB', () => tokenOf(clock.now(), 'a'.repeat(900_000)), /more than 16384/],
  ['a token of another account', () => tokenOf(clock.now(), 'a', 'admin'), /not of the service account builds\/runner/],
  ['a text that is not a token', () => 'nonsense', /not of the service account builds\/runner/],
])('refuses %s from the cluster of a runtime', async (_, hostile, why) => {
  const first = tokenOf(START, 'first')
  storeSecret(first)
  mount(first)
  const agent = openAgent()
  far.intercept = ({ plural }) =>
    plural === 'serviceaccounts'
      ? { status: 201, page: JSON.stringify({ status: { token: hostile(), expirationTimestamp: '2027-01-01T00:00:00Z' } }) }
      : undefined
  clock.advance(0.7 * HOUR)
  await agent.check()
  expect(await agent.used()).toBe(first)
  expect(storedText()).toBe(fileText(first))
  await expect.poll(() => JSON.stringify(agent.log())).toMatch(why)
})
