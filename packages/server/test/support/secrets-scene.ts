/** One secret of every kind that a server stores, written over HTTP, and helpers that read them again. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { nodeTransport } from '@windlass/kit'
import { openClient } from '@windlass/client'
import { AgentCreated, ApiKeyCreated, Build, Context, Pipeline, WebhookCreated, type EngineClaimed } from '@windlass/protocol'
import { sql } from 'kysely'
import type { App } from '../../src/app.ts'
import { startServer, type ServerOptions } from '../../src/index.ts'
import { authorityCertificate } from '../../src/certificates/certificates.ts'
import { currentSigningKey } from '../../src/identity/step-tokens/keys.ts'
import type { HttpScene } from './http-scene.ts'
import { addBuildData, openBuildData } from '../../src/builds/lifecycle/build-data.ts'
import { findBuildData } from '../../src/store/builds/build-data.ts'
import { openSecret } from '../../src/notifications/receiver.ts'
import { mailServerPlace } from '../../src/secrets/places.ts'
import { helloAgent, startEngine, type TestEngine } from './fakes/fake-agent.ts'

/** A secret with characters that are encoded differently in each format. */
const secret = (name: string): string => `s3cret-${name}-"\\Zażółć ☃ 日本`

export const SECRETS = {
  context: secret('context'),
  yaml: secret('yaml'),
  gitPassword: secret('git-password'),
  sshKey: secret('ssh-key'),
  registry: secret('registry'),
  cluster: secret('cluster'),
  store: secret('store'),
  variable: secret('variable'),
  document: secret('document'),
  run: secret('run'),
  exported: secret('exported'),
  member: secret('member'),
  output: secret('output'),
} as const

const quoted = JSON.stringify
const KUBECONFIG = `
apiVersion: v1
kind: Config
current-context: work
clusters: [{ name: far, cluster: { server: 'https://far' } }]
users: [{ name: me, user: { token: ${quoted(SECRETS.cluster)} } }]
contexts: [{ name: work, context: { cluster: far, user: me } }]
`

const steps = `steps:
    one:
      image: alpine
      commands: [echo]
    two:
      image: alpine
      commands: [echo]
`
const DOCUMENT = `kind: pipeline
metadata:
  name: keys/written
spec:
  contexts: [shared, shaped]
  variables:
    - key: WRITTEN
      value: ${quoted(SECRETS.document)}
      encrypted: true
  ${steps}`

export interface Planted {
  /** The build with the exports. */
  readonly build: Build
  /** Secret parts of issued credentials. */
  readonly tokens: readonly string[]
  /** Reads every secret through its normal use. Returns the names of those that differ from what was written. */
  missing(scene: HttpScene): Promise<string[]>
}

/** Writes all secrets. */
export async function plantSecrets(scene: HttpScene): Promise<Planted> {
  await putContexts(scene)
  await putPipelines(scene)
  const { build, task, engine } = await scene.start({
    document: undefined,
    pipeline: 'keys/written',
    secrets: { ONCE: SECRETS.run },
  })
  await exportSecrets(engine)
  await endWithFailure(scene, engine)
  await putNotification(scene)
  const item = await addBuildData(scene.server.app, build.id, DATA)
  const key = await makeKey(scene)
  const webhook = await scene.admin.call('POST', '/v1/webhooks', WebhookCreated, { body: { name: 'forge', forge: 'gitlab' } })
  const agent = await scene.admin.call('POST', '/v1/agents', AgentCreated, { body: { name: 'other' }, headers: ONCE })
  const authority = await authorityCertificate(scene.server.app)
  const { id: signingKey } = await currentSigningKey(scene.server.app)
  const { bootstrap } = task.engine
  const { token, buildToken = '' } = engine.claimed
  return {
    build,
    tokens: [bootstrap, token, buildToken, key, agent.token, webhook.secret, scene.adminToken, scene.agentToken]
      .map((text) => text.split('.')[1] ?? text)
      .concat(HOOK.url, HOOK.secret, MAIL_PASSWORD, DATA.report),
    async missing(after) {
      const found = await readAll(after, build)
      const lost = Object.entries(SECRETS).filter(
        ([, value]) => !found.includes(quoted(value)) && !found.includes(quoted(quoted(value)).slice(1, -1)),
      )
      const others = [
        ['reply', (await makeKey(after)) === key],
        ['webhook', (await deliver(after, webhook)) === 202],
        ['build data', (await readData(after, build.id, item)) === quoted(DATA)],
        ['receivers', (await readReceivers(after)) === quoted([HOOK, MAIL_PASSWORD])],
        ['signing-key', (await currentSigningKey(after.server.app)).id === signingKey],
        ['authority', (await authorityCertificate(after.server.app)) === authority],
      ] as const
      return [...lost.map(([name]) => name), ...others.filter(([, isSame]) => !isSame).map(([name]) => name)]
    },
  }
}

const ONCE = { 'idempotency-key': 'once' }

/** Creates a key. The response of the first call is stored, sealed, for repeated calls. */
async function makeKey(scene: HttpScene): Promise<string> {
  const headers = { 'idempotency-key': 'the-same' }
  return (await scene.admin.call('POST', '/v1/keys', ApiKeyCreated, { body: { name: 'ci', role: 'developer' }, headers })).token
}

/** Calls the webhook with its secret. Returns the status of the response. */
async function deliver({ server }: HttpScene, { id, secret }: WebhookCreated): Promise<number> {
  const headers = { 'content-type': 'application/json', 'x-gitlab-token': secret }
  return (await fetch(`${server.url}/v1/webhooks/${id}/deliveries`, { method: 'POST', headers, body: '{}' })).status
}

const DATA = { report: 's3cret-build-data' }

async function readData({ server: { app } }: HttpScene, buildId: string, id: string): Promise<string> {
  const row = await findBuildData(app.store.query, buildId, id)
  return row === undefined ? '' : quoted(openBuildData(app, row))
}

const HOOK = { url: 'https://hooks.test/s3cret-hook-path', secret: `whsec_${Buffer.alloc(24, 'hook-key').toString('base64')}` }
const MAIL_PASSWORD = 's3cret-mail-password'

/** Stores a notification to a webhook, and a mail server with a password. */
async function putNotification({ admin }: HttpScene): Promise<void> {
  await admin.notifications.create({ name: 'hook', channel: { type: 'webhook', ...HOOK } })
  await admin.mailServer.put({ host: 'mail.test', from: 'ci@mail.test', username: 'ci', password: MAIL_PASSWORD })
}

/** Returns what the server sends to the receivers of notifications, as it reads it before it sends. */
async function readReceivers({ server: { app } }: HttpScene): Promise<string> {
  const { query } = app.store
  const hook = await query.selectFrom('notification').selectAll().executeTakeFirstOrThrow()
  const mail = await query.selectFrom('mail_server').selectAll().executeTakeFirstOrThrow()
  return quoted([openSecret(app.vault, hook), app.vault.open(mailServerPlace(mail), mail.password ?? '')])
}

async function putContexts(scene: HttpScene): Promise<void> {
  const put = (name: string, type: string, data: object): Promise<Context> =>
    scene.admin.call('POST', '/v1/contexts', Context, { body: { name, type, data } })
  await put('shared', 'secret', { SHARED: SECRETS.context })
  await put('shaped', 'secret-yaml', { SHAPED: { deep: SECRETS.yaml } })
  await put('repo', 'git', { url: 'https://git.test', password: SECRETS.gitPassword, sshPrivateKey: SECRETS.sshKey })
  await put('hub', 'registry', { domain: 'r.test', username: 'me', password: SECRETS.registry })
  await put('far', 'kubernetes', { kubeconfig: KUBECONFIG })
  await put('safe', 'secret-store', { url: 'https://safe.test', token: SECRETS.store })
}

async function putPipelines(scene: HttpScene): Promise<void> {
  await scene.admin.call('POST', '/v1/pipelines', Pipeline, { body: { name: 'keys/written', document: DOCUMENT } })
  await scene.admin.call('POST', '/v1/pipelines', Pipeline, {
    body: {
      name: 'keys/listed',
      document: `version: '1.0'\n${steps.replaceAll('\n  ', '\n')}`,
      variables: [{ key: 'LISTED', value: SECRETS.variable, encrypted: true }],
    },
  })
}

/** Runs the engine to the end of its first step, which exports secrets in every way. */
export async function exportSecrets(engine: TestEngine): Promise<void> {
  await engine.event({ type: 'attempt.started', engineVersion: '0', docker: { version: '0', api: '1.45' }, volumeKept: true })
  await engine.event({ type: 'step.started', step: 'one', try: 1 })
  await engine.log('step/one', 'a line of output\n')
  await engine.event({
    type: 'step.finished',
    step: 'one',
    try: 1,
    status: 'success',
    exitCode: 0,
    exports: [{ name: 'EXPORTED', value: SECRETS.exported, secret: true }],
    members: { url: SECRETS.member },
    outputs: { token: SECRETS.output },
    sealed: { members: ['url'], outputs: ['token'] },
  })
}

async function endWithFailure(scene: HttpScene, engine: TestEngine): Promise<void> {
  await engine.event({ type: 'step.started', step: 'two', try: 1 })
  await engine.event({ type: 'step.finished', step: 'two', try: 1, status: 'error', exitCode: 1, members: {}, exports: [] })
  await engine.finish({ status: 'error', reason: 'step-failed', message: 'two failed' })
  for (const task of await scene.agent.claim()) await scene.agent.report(task, 'done')
}

/** Returns everything that engines get, for a restart that continues the first build, and for a build of the other pipeline. */
async function readAll(scene: HttpScene, build: Build): Promise<string> {
  const again = await begin(scene, () =>
    scene.admin.call('POST', `/v1/builds/${build.id}/restart`, Build, { body: { from: 'failed' } }),
  )
  const listed = await begin(scene, () => scene.submit({ document: undefined, pipeline: 'keys/listed' }))
  return quoted([again, listed])
}

/** Starts a build and its engine, and ends it. Returns what the engine got. */
async function begin(scene: HttpScene, start: () => Promise<Build>): Promise<EngineClaimed> {
  const build = await start()
  const tasks = await scene.agent.claim()
  const task = tasks.find((one) => one.kind === 'start-attempt' && one.buildId === build.id)
  if (task?.kind !== 'start-attempt') throw new Error(`no start task for ${build.id}: ${quoted(tasks)}`)
  const engine = await startEngine(scene.server.url, task)
  await scene.agent.report(task, 'done')
  await engine.event({ type: 'attempt.started', engineVersion: '0', docker: { version: '0', api: '1.45' }, volumeKept: true })
  await engine.finish({ status: 'error', reason: 'step-failed', message: 'over' })
  for (const left of await scene.agent.claim()) await scene.agent.report(left, 'done')
  return engine.claimed
}

/** Returns every text value of every table with its location. */
export async function dumpTables({ store: { query } }: App): Promise<{ readonly place: string; readonly text: string }[]> {
  const tables = await query.introspection.getTables()
  const dumps = tables.map(async ({ name }) => {
    const { rows } = await sql<Record<string, unknown>>`select * from ${sql.table(name)}`.execute(query)
    return rows.flatMap((row) =>
      Object.entries(row).flatMap(([column, value]) =>
        typeof value === 'string' ? [{ place: `${name}.${column}`, text: value }] : [],
      ),
    )
  })
  return (await Promise.all(dumps)).flat()
}

/** Returns the raw content of every file below a folder except the master key. */
export async function dumpFiles(folder: string): Promise<{ readonly place: string; readonly text: string }[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile() && entry.name !== 'master.key')
  return Promise.all(
    files.map(async ({ name, parentPath }) => ({ place: name, text: await readFile(join(parentPath, name), 'latin1') })),
  )
}

/** Returns the encodings of a text, as latin1 so that they are also found in bytes. */
export function formsOf(text: string): string[] {
  const utf8 = Buffer.from(text)
  const latin = (value: string): string => Buffer.from(value).toString('latin1')
  const json = quoted(text).slice(1, -1)
  const ascii = json.replaceAll(/[^ -~]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
  // The base64 form of a text inside another text depends on its offset.
  const base64 = [0, 1, 2].flatMap((shift) => {
    const bytes = Buffer.concat([Buffer.alloc(shift), utf8])
    const middle = bytes.subarray(shift === 0 ? 0 : 3, bytes.length - (bytes.length % 3))
    return [middle.toString('base64'), middle.toString('base64url')]
  })
  const forms = [text, json, quoted(json).slice(1, -1), ascii, encodeURIComponent(text)].map(latin)
  return [...new Set([...forms, utf8.toString('hex'), ...base64])]
}

/** Returns which of the texts a dump contains, and where. */
export function leaks(
  dump: readonly { readonly place: string; readonly text: string }[],
  texts: Readonly<Record<string, string>>,
): string[] {
  const forms = Object.entries(texts).map(([name, text]) => ({ name, forms: formsOf(text) }))
  return [
    ...new Set(
      dump.flatMap(({ place, text }) => {
        const bytes = [text, Buffer.from(text).toString('latin1')]
        return forms
          .filter((of) => of.forms.some((form) => bytes.some((one) => one.includes(form))))
          .map(({ name }) => `${name} in ${place}`)
      }),
    ),
  ]
}

/** Restarts the server of a scene on the same data, with the same keys and a new agent process. */
export async function reopen(scene: HttpScene, options: Partial<ServerOptions> = {}): Promise<HttpScene> {
  await scene.server.close()
  const server = await startServer({ minFreeShare: 0, ...options, dataDir: scene.dataDir })
  const nobody = openClient({ url: server.url, transport: nodeTransport() })
  const admin = nobody.withToken(scene.adminToken)
  return {
    ...scene,
    server,
    nobody,
    admin,
    agent: await helloAgent(server.url, scene.agentToken),
    submit: (input) => admin.call('POST', '/v1/builds', Build, { body: input }),
    start: () => Promise.reject(new Error('use submit to start builds')),
    [Symbol.asyncDispose]: () => server.close(),
  }
}
