/** A call of each route that API keys or steps can repeat with an Idempotency-Key. The table deliberately duplicates the routes, so that each new one is reviewed. */
import { systemClock } from '@windlass/kit'
import { DeliveryReceipt } from '@windlass/protocol'
import { startEngine } from '../support/fakes/fake-agent.ts'
import { HELLO, type HttpScene } from '../support/http-scene.ts'
import { openProduct } from '../support/product.ts'
import { z } from 'zod'

export interface KeyedCall {
  readonly path: string
  readonly body: object
  /** Key of the caller. Default: that of the admin. */
  readonly token?: string
}

type Prepare = (scene: HttpScene) => KeyedCall | Promise<KeyedCall>

/** A document with an error, whose builds end at once. */
const ENDED = 'steps: 5'
const STEP_TYPE = `version: '1.0'
kind: step-type
metadata: { name: acme/greet, version: 1.0.0 }
spec: { steps: { main: { image: alpine, commands: [echo hi] } } }
`
const CLUSTER = { name: 'second', server: 'https://cluster.test', token: 'cluster-token' }

/** Calls whose answer is stored in the transaction of their effect. */
export const SETTLED: Readonly<Record<string, Prepare>> = {
  'POST /v1/sessions/codes': () => ({ path: '/v1/sessions/codes', body: {} }),
  'POST /v1/keys': () => ({ path: '/v1/keys', body: { name: 'second', role: 'developer' } }),
  'POST /v1/users': () => ({ path: '/v1/users', body: { name: 'second' } }),
  'POST /v1/users/{name}/invitation': async ({ admin }) => {
    await admin.users.create({ name: 'second' })
    return { path: '/v1/users/second/invitation', body: {} }
  },
  'POST /v1/teams': () => ({ path: '/v1/teams', body: { name: 'second' } }),
  'POST /v1/views': () => ({ path: '/v1/views', body: { name: 'Failed', filter: { status: ['error'] } } }),
  'POST /v1/pipelines': () => ({ path: '/v1/pipelines', body: { name: 'team/second', document: ENDED } }),
  'POST /v1/projects': () => ({ path: '/v1/projects', body: { name: 'second' } }),
  'POST /v1/step-types': () => ({ path: '/v1/step-types', body: { manifest: STEP_TYPE } }),
  'POST /v1/gitops-runtimes/{runtime}/tokens': () => ({ path: '/v1/gitops-runtimes/second/tokens', body: {} }),
  'POST /v1/products/{name}/releases': async (scene) => {
    await openProduct(scene)
    // The release asks for no change, so that it adds no rows meanwhile.
    await scene.admin.promotionPolicies.put('none', { policy: { action: 'none' } })
    return { path: '/v1/products/shop/releases', body: { from: 'staging', to: 'production' } }
  },
  'POST /v1/contexts': () => ({ path: '/v1/contexts', body: { name: 'second', type: 'config', data: { A: 'b' } } }),
  'POST /v1/webhooks': () => ({ path: '/v1/webhooks', body: { name: 'second', forge: 'github' } }),
  'POST /v1/triggers': async ({ admin }) => {
    await admin.pipelines.create({ name: 'team/triggered', document: ENDED })
    return { path: '/v1/triggers', body: { pipeline: 'team/triggered', name: 'push', repo: 'acme/app', events: ['push'] } }
  },
  'POST /v1/cron-triggers': async ({ admin }) => {
    await admin.pipelines.create({ name: 'team/nightly', document: ENDED })
    const body = { pipeline: 'team/nightly', name: 'nightly', message: 'nightly', expression: '0 3 * * *' }
    return { path: '/v1/cron-triggers', body }
  },
  'POST /v1/event-triggers': async ({ admin }) => {
    await admin.pipelines.create({ name: 'team/images', document: ENDED })
    return { path: '/v1/event-triggers', body: { type: 'registry', pipeline: 'team/images', name: 'base', image: 'acme/base' } }
  },
  'POST /v1/deliveries/{id}/replay': async (scene) => ({ path: `/v1/deliveries/${await deliver(scene)}/replay`, body: {} }),
  'POST /v1/messages/{id}/retry': async (scene) => ({ path: `/v1/messages/${await failMessage(scene)}/retry`, body: {} }),
  'POST /v1/notifications': () => ({
    path: '/v1/notifications',
    body: { name: 'second', channel: { type: 'webhook', url: 'https://hooks.test/x' } },
  }),
  'POST /v1/builds/{id}/links': async ({ submit }) => ({
    path: `/v1/builds/${(await submit({ document: ENDED })).id}/links`,
    body: {},
  }),
  'POST /v1/pipelines/{name}/badge-links': async ({ admin }) => {
    await admin.pipelines.create({ name: 'team/shown', document: ENDED })
    return { path: '/v1/pipelines/team%2Fshown/badge-links', body: {} }
  },
  'POST /v1/agents': () => ({ path: '/v1/agents', body: { name: 'second' } }),
  'POST /v1/agents/{name}/token': async ({ admin }) => {
    await admin.agents.create({ name: 'second' })
    return { path: '/v1/agents/second/token', body: {} }
  },
  'POST /v1/clusters': () => ({ path: '/v1/clusters', body: CLUSTER }),
  'POST /v1/installations': () => ({ path: '/v1/installations', body: { name: 'second', options: {} } }),
  'POST /v1/installations/{id}/events': async ({ admin }) => {
    const { id } = await admin.installations.create({ name: 'second', options: {} })
    return { path: `/v1/installations/${id}/events`, body: { event: 'started', status: 'success' } }
  },
  'POST /v1/runtimes': () => ({ path: '/v1/runtimes', body: { name: 'second', type: 'fake', agent: 'agent' } }),
  'POST /v1/builds': () => ({ path: '/v1/builds', body: { document: ENDED } }),
  'POST /v1/builds/{id}/restart': async ({ submit }) => {
    const { id } = await submit({ document: ENDED })
    return { path: `/v1/builds/${id}/restart`, body: {} }
  },
  'POST /v1/builds/{id}/terminate': async (scene) => ({ path: `/v1/builds/${await hold(scene)}/terminate`, body: {} }),
  'POST /v1/builds/actions': async ({ submit }) => {
    const { id } = await submit({ document: ENDED })
    return { path: '/v1/builds/actions', body: { action: 'restart', ids: [id] } }
  },
  'POST /v1/builds/{id}/debug': async (scene) => ({ path: `/v1/builds/${await hold(scene)}/debug`, body: { off: true } }),
  'POST /v1/builds/{id}/debug/{step}/{action}': async (scene) => ({
    path: `/v1/builds/${await hold(scene)}/debug/hello/continue`,
    body: {},
  }),
  'POST /v1/builds/{id}/terminals': async (scene) => ({
    path: `/v1/builds/${await hold(scene)}/terminals`,
    body: { columns: 80, rows: 24 },
  }),
  'POST /v1/master-keys/rotation': () => ({ path: '/v1/master-keys/rotation', body: {} }),
  'POST /api/agents': () => ({ path: '/api/agents', body: { name: 'second' } }),
  'POST /api/auth/key': () => ({ path: '/api/auth/key', body: { name: 'second' } }),
  'POST /api/runner-installation': () => ({ path: '/api/runner-installation', body: {} }),
  'POST /api/clusters/{provider}/cluster': () => ({
    path: '/api/clusters/local/cluster',
    body: { selector: 'second', host: CLUSTER.server, serviceAccountToken: CLUSTER.token },
  }),
  'POST /api/team': () => ({ path: '/api/team', body: { name: 'second' } }),
  'POST /api/workflow/{id}/data': async ({ submit }) => {
    const { id } = await submit({ document: ENDED })
    return { path: `/api/workflow/${id}/data`, body: { report: 'second' } }
  },
  'POST /api/projects': () => ({ path: '/api/projects', body: { projectName: 'second' } }),
  'POST /api/pipelines': () => ({ path: '/api/pipelines', body: { metadata: { name: 'team/second' }, spec: { steps: {} } } }),
  'POST /api/pipelines/run/{name}': async ({ admin }) => {
    await admin.pipelines.create({ name: 'second', document: ENDED })
    return { path: '/api/pipelines/run/second', body: {} }
  },
  'POST /api/pipelines/run': () => ({ path: '/api/pipelines/run', body: { userYamlDescriptor: ENDED } }),
  'POST /api/contexts/': () => ({
    path: '/api/contexts/',
    body: { metadata: { name: 'second' }, spec: { type: 'config', data: { A: 'b' } } },
  }),
  'POST /api/registries': () => ({
    path: '/api/registries',
    body: { name: 'second', domain: 'registry.test', username: 'a', password: 'b' },
  }),
  'POST /api/hermes/triggers/{event}/{pipeline}': async ({ admin, adminToken, server }) => {
    await admin.pipelines.create({ name: 'nightly', document: ENDED })
    const body = JSON.stringify({ type: 'cron', kind: 'codefresh', values: { expression: '0 3 * * *', message: 'nightly' } })
    const headers = { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' }
    const answer = await fetch(`${server.url}/api/hermes/events`, { method: 'POST', headers, body })
    const event = encodeURIComponent(z.string().parse(await answer.json()))
    return { path: `/api/hermes/triggers/${encodeURIComponent(event)}/nightly`, body: { filters: {} } }
  },
  'POST /api/step-types': () => ({
    path: '/api/step-types',
    body: {
      metadata: { name: 'acme/greet', version: '1.0.0' },
      spec: { steps: { main: { image: 'alpine', commands: ['echo hi'] } } },
    },
  }),
}

/** Calls of steps whose answer is stored in the transaction of their effect. */
export const SETTLED_OF_STEPS: Readonly<Record<string, Prepare>> = {
  'POST /api/pipelines/run/{name}': async (scene) => ({
    path: `/api/pipelines/run/${encodeURIComponent('team/child')}`,
    body: {},
    token: await startParent(scene, ENDED),
  }),
  'POST /v1/builds': async (scene) => ({
    path: '/v1/builds',
    body: { pipeline: 'team/child' },
    token: await startParent(scene, ENDED),
  }),
  'POST /v1/builds/{id}/terminate': async (scene) => {
    const token = await startParent(scene, HELLO)
    const child = await scene.nobody.withToken(token).builds.create({ pipeline: 'team/child' }, { idempotencyKey: false })
    const [task] = await scene.agent.claim()
    if (task?.kind !== 'start-attempt') throw new Error(`expected a start task, got ${JSON.stringify(task)}`)
    await startEngine(scene.server.url, task)
    await scene.agent.report(task, 'done')
    return { path: `/v1/builds/${child.id}/terminate`, body: {}, token }
  },
}

/** Calls that can be carried out twice, and why. */
export const HARMLESS: Readonly<Record<string, string>> = {
  'POST /v1/validate': 'stores nothing',
  'POST /v1/tunnels/{runtime}/disconnect': 'ends the connection once more',
  'POST /v1/gitops-runtimes/{runtime}/access': 'stores nothing',
  'POST /v1/gitops-runtimes/{runtime}/calls': 'its caller has given it an id, which is announced once',
  'POST /v1/image-reports': 'the same report changes its time only',
  'POST /2.0/api/graphql': 'its clients send no key; what creates something has a name or replaces it',
  'POST /v1/applications/{id}/sync': 'the runtime refuses a second one while the first runs',
  'POST /v1/applications/{id}/rollback': 'the runtime refuses a second one while the first runs',
  'POST /v1/applications/{id}/refresh': 'compares once more',
  'POST /v1/applications/{id}/terminate': 'a sync that ends is not ended again',
  'POST /v1/applications/{id}/rollouts/rollback': 'a revision that is restored gets another number',
  'POST /v1/applications/{id}/rollouts/{action}': 'names the step that it is about, and the runtime refuses it at another one',
  'POST /v1/releases/{id}/terminate': 'a release that ends is not ended again',
  'POST /v1/releases/{id}/retry': 'a release that runs is not tried again',
  'POST /v1/agents/{name}/checks': 'joins the checks in progress',
  'POST /v1/contexts/{name}/check': 'joins the check in progress',
  'POST /v1/plan': 'stores nothing',
  'POST /v1/pipelines/{name}/versions/{version}/restore': 'the same content makes no version',
  'POST /v1/device-codes/{code}/approve': 'the same decision changes nothing',
  'POST /v1/device-codes/{code}/deny': 'the same decision changes nothing',
  'POST /v1/triggers/test': 'stores nothing',
  'POST /v1/notifications/{name}/test': 'sends another test message, at most one in ten seconds',
  'POST /v1/certificates': 'stores nothing but the authority, once',
  'POST /v1/runtimes/{name}/default': 'makes the same runtime the default',
  'POST /v1/builds/{id}/attempts/{attempt}/confirm-gone': 'a confirmed attempt does not change',
  'POST /v1/builds/{id}/approve': 'the same decision changes nothing',
  'POST /v1/builds/{id}/deny': 'the same decision changes nothing',
  'POST /v1/builds/{id}/terminals/{terminal}/input': 'the input is numbered',
  'POST /v1/master-keys/prune': 'requests the same removal',
  'POST /v1/archives': 'stores nothing',
  'POST /api/custom_clusters/register': 'the same registration changes nothing',
  'POST /api/custom_clusters/signServerCerts': 'stores nothing but the authority, once',
  'POST /api/pipelines/yaml/validator': 'stores nothing',
  'POST /api/registries/test': 'stores nothing',
  'POST /api/services': 'stores nothing',
  'POST /api/hermes/events': 'stores nothing',
  'POST /api/annotations': 'sets the same value',
}

/** Starts a build whose step is held by the debugger. Returns its id. */
async function hold({ start }: HttpScene): Promise<string> {
  const { build, engine } = await start()
  await engine.event({ type: 'attempt.started', engineVersion: '0', docker: { version: '0', api: '1.45' }, volumeKept: true })
  await engine.event({ type: 'step.waiting', step: 'hello', reason: 'debugger', phase: 'override' })
  return build.id
}

/** Starts a build whose steps can start a pipeline with this document. Returns the key of its steps. */
async function startParent({ admin, start }: HttpScene, document: string): Promise<string> {
  await admin.pipelines.create({ name: 'team/child', document })
  await admin.pipelines.create({ name: 'team/parent', document: HELLO })
  const { engine } = await start({ pipeline: 'team/parent', document: undefined })
  return engine.claimed.buildToken ?? ''
}

/** Delivers an event for which there is no trigger, and waits until it is processed. Returns its id. */
async function deliver({ admin }: HttpScene): Promise<string> {
  const { url, secret } = await admin.webhooks.create({ name: 'forge', forge: 'gitlab' })
  const headers = { 'content-type': 'application/json', 'x-gitlab-token': secret }
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify({ object_kind: 'push' }) })
  const { id } = DeliveryReceipt.parse(await answer.json())
  while ((await admin.deliveries.get(id)).status === 'received') await systemClock.sleep(20)
  return id
}

/** Lets the server give up a notification, because it may not connect to the address. Returns the id of the message. */
async function failMessage({ admin, submit }: HttpScene): Promise<string> {
  await admin.notifications.create({ name: 'private', channel: { type: 'slack', url: 'http://127.0.0.1/' } })
  await submit({ document: ENDED, enableNotifications: true })
  for (;;) {
    const failed = (await admin.messages.list()).items.find(({ state }) => state === 'failed')
    if (failed !== undefined) return failed.id
    await systemClock.sleep(20)
  }
}
