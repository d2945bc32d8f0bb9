/**
 * Workflows in a cluster, operated by users through the app-proxy with the rights of the chart. The definitions are our own, and the controller of Argo Workflows is played: Argo Workflows
 * cannot be built here. Pods and their logs are real.
 */
import type { KubeObject } from '@windlass/kube'
import { basicAuth } from '@windlass/protocol'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { windlass } from '../../../packages/cli/test/windlass.ts'
import { openHttpScene, type HttpScene } from '../../../packages/server/test/support/http-scene.ts'
import { addNamespace, startCluster, type Cluster } from '../../support/cluster.ts'
import { ensureImages } from '../../support/images.ts'
import { createBucket } from '../../support/log-bucket.ts'
import { startMoto, type Moto } from '../../support/moto.ts'
import { pushImage } from '../../support/pushed-image.ts'
import { startRegistry } from '../../support/registry.ts'
import { eventsOf, playTasks, renderImageTemplate, startJira } from './image-workflow.ts'
import { startRuntime, TOKEN_SECRET } from './runtime-process.ts'
import { reportRuntime } from './start-reporter.ts'
import { serveWorkflows } from './workflow-crd.ts'

const closing = new AsyncDisposableStack()
const namespace = `workflows-${process.pid}`
const PREFIX = 'workflows.argoproj.io'
let cluster: Cluster
let http: HttpScene
let moto: Moto
let bucket = ''
let image = ''
let url = ''
const keys = { dan: '', vera: '' }

beforeAll(async () => {
  const starting = startMoto()
  closing.defer(async () => (await starting)[Symbol.asyncDispose]())
  cluster = await startCluster()
  image = (await ensureImages('shell'))['SHELL_IMAGE'] ?? ''
  await cluster.load(image)
  closing.use(await serveWorkflows(cluster))
  closing.defer(async () => void (await cluster.kube.delete({ kind: 'Namespace', name: namespace })))
  await addNamespace(cluster, namespace)
  http = closing.use(await openHttpScene())
  moto = await starting
  bucket = await createBucket(moto.url)
  const options = { cluster, http, name: 'prod', namespace, operatesWorkflows: true, imageReportTemplate: 'image-enrichment' }
  const runtime = closing.use(await startRuntime({ ...options, logArchive: { url: moto.url, bucket } }))
  url = runtime.url
  closing.use(await reportRuntime({ http, kube: cluster.kube, token: runtime.token, namespace }))
  for (const [owner, role] of [
    ['dan', 'developer'],
    ['vera', 'viewer'],
  ] as const) {
    await http.admin.users.create({ name: owner, role, password: 'correct horse battery' })
    keys[owner] = (await http.admin.keys.create({ name: `${owner}-key`, role: 'admin', owner })).token
  }
})

afterAll(() => closing.disposeAsync())

interface Shown {
  readonly code: number
  readonly text: string
}

/** Runs `windlass gitops workflow COMMAND prod …`. */
async function run(words: string, key = keys.dan): Promise<Shown> {
  const [command = '', ...rest] = words.split(' ')
  const { code, text } = await windlass(http, ['gitops', 'workflow', command, 'prod', ...rest, '--runtime-url', url], key)
  return { code, text: fixed(text) }
}

/** Replaces what differs between two runs. */
const fixed = (text: string): string =>
  text
    .replaceAll(namespace, 'PROD')
    .replaceAll(/\b(build|once)-[a-z0-9]{5}\b/g, '$1-ID')
    .replaceAll(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S*/g, 'TIME')
    .replaceAll(/\b\d+(?:\.\d+)? ?(?:ms|s|m|min)\b/g, 'AGE')
    .replaceAll(/ {2,}/g, '  ')
    .replaceAll(/ +$/gm, '')

const refTo = (name: string) => ({ kind: 'Workflow', namespace, name }) as const

async function live(name: string): Promise<KubeObject> {
  const found = await cluster.kube.find(refTo(name))
  if (found === undefined) throw new Error(`there is no workflow ${name}`)
  return found
}

/** Returns the names of workflows, newest first. */
const names = async (): Promise<string[]> => {
  const { text } = await windlass(http, ['gitops', 'workflow', 'list', 'prod', '--runtime-url', url, '-o', 'json'])
  return (JSON.parse(text) as { name: string }[]).map(({ name }) => name)
}

/** Writes what the controller writes. */
async function control(name: string, status: { readonly phase: string; readonly [field: string]: unknown }): Promise<void> {
  const isOver = status.phase === 'Failed' || status.phase === 'Succeeded'
  const labels = { [`${PREFIX}/phase`]: status.phase, ...(isOver && { [`${PREFIX}/completed`]: 'true' }) }
  await cluster.kube.patch(refTo(name), { metadata: { labels }, status })
}

/** Starts the pod of a node, as the controller does, and waits for its end. */
async function startPod(workflow: string, id: string, script: string): Promise<void> {
  const name = `${workflow}-${id}`
  await cluster.kube.create({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace,
      labels: { [`${PREFIX}/workflow`]: workflow },
      annotations: { [`${PREFIX}/node-id`]: id },
    },
    spec: {
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: 0,
      containers: [{ name: 'main', image, command: ['sh', '-c', script] }],
    },
  })
}

/** Waits until the server has these facts of a workflow. */
const untilReported = (name: string, facts: object): Promise<void> =>
  expect
    .poll(() => http.admin.reportedWorkflows.get(`prod/${namespace}/${name}`).catch(() => undefined), {
      timeout: 60_000,
      interval: 200,
    })
    .toMatchObject(facts)

const at = (second: number): string => `2027-01-15T09:00:0${second}Z`

test('a workflow of a template is submitted, shown with its logs, stopped, reported, and retried where it failed (O050, O061)', async () => {
  await cluster.kube.create({
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'WorkflowTemplate',
    metadata: { name: 'build', namespace },
    spec: { entrypoint: 'main' },
  })
  expect((await run('submit build', keys.vera)).text).toContain('change-gitops')
  expect(await run('submit biuld')).toMatchObject({ code: 3, text: expect.stringContaining('"biuld" does not exist') })
  expect(await run('submit build -p revision=main -p note=a=b')).toEqual({ code: 0, text: 'workflow/build-ID submitted\n' })
  const [name = ''] = await names()
  // What `argo submit --from workflowtemplate/build -p revision=main` writes.
  const dan = await http.admin.users.get('dan')
  expect(await live(name)).toMatchObject({
    metadata: {
      generateName: 'build-',
      labels: {
        [`${PREFIX}/workflow-template`]: 'build',
        [`${PREFIX}/creator`]: dan.id,
        [`${PREFIX}/creator-preferred-username`]: 'dan',
      },
    },
    spec: {
      workflowTemplateRef: { name: 'build' },
      arguments: {
        parameters: [
          { name: 'revision', value: 'main' },
          { name: 'note', value: 'a=b' },
        ],
      },
    },
  })
  expect(await run('logs ' + name)).toEqual({
    code: 0,
    text: 'The workflow has no pods: none has started, or they are deleted.\n',
  })

  await Promise.all([
    startPod(name, 'compile', 'echo compile begins; echo compile ends'),
    startPod(name, 'test', 'echo test fails; exit 1'),
    // Of something else in the namespace.
    startPod('other', 'pod', 'echo secret'),
  ])
  const pods = ['compile', 'test'].map((id) => `pod/${name}-${id}`)
  for (const [index, phase] of ['Succeeded', 'Failed'].entries())
    await cluster.kubectl('-n', namespace, 'wait', `--for=jsonpath={.status.phase}=${phase}`, '--timeout=60s', pods[index] ?? '')
  const node = (id: string, more: object): object => ({ id, name: id, displayName: id, boundaryID: name, ...more })
  const root = { id: name, name, displayName: name, type: 'DAG', startedAt: at(0), children: ['compile'] }
  const nodes = {
    [name]: { ...root, phase: 'Running', outboundNodes: ['report'] },
    compile: node('compile', { type: 'Pod', phase: 'Succeeded', startedAt: at(1), finishedAt: at(4), children: ['test'] }),
    test: node('test', {
      type: 'Pod',
      phase: 'Failed',
      startedAt: at(4),
      finishedAt: at(6),
      message: 'exit code 1',
      children: ['report'],
    }),
    report: node('report', { type: 'Pod', phase: 'Omitted', startedAt: at(6), finishedAt: at(6) }),
  }
  await control(name, { phase: 'Running', startedAt: at(0), progress: '1/3', nodes })
  expect(await run(`stop ${name}`)).toEqual({ code: 0, text: 'workflow/build-ID stopping\n' })
  expect(await live(name)).toMatchObject({
    metadata: { labels: { [`${PREFIX}/actor`]: 'dan', [`${PREFIX}/action`]: 'Stop' } },
    spec: { shutdown: 'Stop' },
  })
  expect((await run(`get ${name}`)).text).toContain('Phase:  running (stopping)\n')
  expect(await run(`retry ${name}`)).toMatchObject({ code: 1, text: expect.stringContaining('has not failed: Running') })
  const end = {
    phase: 'Failed',
    finishedAt: at(6),
    message: 'child test failed',
    conditions: [{ type: 'Completed', status: 'True' }],
  }
  await control(name, { ...end, nodes: { [name]: { phase: 'Failed', finishedAt: at(6) } } })
  expect(await run(`stop ${name}`)).toMatchObject({ code: 1, text: expect.stringContaining('has ended: Failed') })
  expect((await run(`get ${name}`, keys.vera)).text).toMatchInlineSnapshot(`
    "Workflow:  build-ID
    Template:  build
    Phase:  failed
    Message:  child test failed
    Progress:  1/3
    Duration:  AGE
    Submitted by:  dan
    Created:  TIME (AGE ago)

    PARAMETER  VALUE
    revision  main
    note  a=b

    NODE  TYPE  PHASE  DURATION  POD  MESSAGE
    build-ID  DAG  failed  AGE
    compile  Pod  succeeded  AGE  build-ID-compile
    test  Pod  failed  AGE  build-ID-test  exit code 1
    report  Pod  omitted  AGE
    "
  `)
  expect((await run('list --phase failed')).text).toMatchInlineSnapshot(`
    "NAME  PHASE  AGE  TEMPLATE  BY
    build-ID  failed  AGE  build  dan
    "
  `)
  expect((await run('list --phase pending')).text).toBe('No workflows found.\n')
  await untilReported(name, {
    phase: 'failed',
    message: 'child test failed',
    progress: '1/3',
    template: 'build',
    by: 'dan',
    startedAt: Date.parse(at(0)),
    finishedAt: Date.parse(at(6)),
    failedNodes: [{ name: 'test', message: 'exit code 1' }],
    history: expect.arrayContaining([
      expect.objectContaining({ phase: 'running' }),
      expect.objectContaining({ phase: 'failed' }),
    ]),
  })
  const { text } = await windlass(http, ['get', 'workflows', '--status', 'failed'])
  expect(fixed(text)).toMatchInlineSnapshot(`
    "RUNTIME  NAMESPACE  NAME  PHASE  PROGRESS  TIME  AGE  TEMPLATE  BY  GONE  MESSAGE
    prod  PROD  build-ID  failed  1/3  AGE  AGE  build  dan  child test failed
    "
  `)

  // The pods run side by side, and their lines are shown in the order of their times.
  expect((await run(`logs ${name}`)).text.trim().split('\n').toSorted()).toEqual([
    'build-ID-compile: compile begins',
    'build-ID-compile: compile ends',
    'build-ID-test: test fails',
  ])
  expect((await run(`logs ${name} ${name}-compile --tail 1`)).text).toBe('compile ends\n')
  expect((await run(`logs ${name} ${name}-test --timestamps`)).text).toBe('TIME test fails\n')
  expect(await run(`logs ${name} other-pod`)).toMatchObject({ code: 3, text: expect.not.stringContaining('secret') })
  expect((await run(`logs ${name} ${name}-test -c sidecar`)).text).toContain('container sidecar is not valid')
  expect((await run(`logs ${name} -f`)).text).toContain('has 2 pods')

  expect(await run(`retry ${name}`)).toEqual({ code: 0, text: 'workflow/build-ID retried\n' })
  const { spec, status, metadata } = (await live(name)) as unknown as {
    readonly spec: object
    readonly status: { readonly nodes: Record<string, object> }
    readonly metadata: KubeObject['metadata']
  }
  expect(spec).not.toHaveProperty('shutdown')
  expect(metadata.labels).not.toHaveProperty(`${PREFIX}/completed`)
  expect(status).not.toHaveProperty('phase')
  expect(status.nodes).toEqual({
    [name]: { ...root, phase: 'Running', startedAt: expect.not.stringContaining(at(0)), outboundNodes: [] },
    compile: { ...nodes.compile, children: [] },
  })
  // The pod of what succeeded stays.
  await cluster.kubectl('-n', namespace, 'wait', '--for=delete', '--timeout=60s', pods[1] ?? '')
  expect((await run(`logs ${name}`)).text).toBe('build-ID-compile: compile begins\nbuild-ID-compile: compile ends\n')
})

test('shape only: the log of a deleted pod is read from the archive of the runtime in S3, and nothing else there (O051)', async () => {
  const [name = ''] = await names()
  const pod = `${name}-compile`
  /** Writes what the executor of Argo Workflows archives. */
  const archive = async (key: string, log: string): Promise<void> => {
    const answer = await fetch(`${moto.url}/${bucket}/${key}`, { method: 'PUT', body: log })
    expect(answer.status).toBe(200)
  }
  const keep = (key: string): Promise<unknown> =>
    cluster.kube.patch(refTo(name), {
      status: { nodes: { compile: { outputs: { artifacts: [{ name: 'main-logs', s3: { key } }] } } } },
    })
  const key = `prod/${name}/${pod}/main.log`
  await archive(key, await cluster.kubectl('-n', namespace, 'logs', pod))
  await archive(`prod/${name}/${name}-lint/main.log`, 'as the format says\n')
  await archive(`staging/${name}/${pod}/main.log`, 'secret of another runtime\n')
  await keep(key)
  const lines = 'compile begins\ncompile ends\n'
  expect((await run(`logs ${name} ${pod}`)).text).toBe(lines)
  await cluster.kubectl('-n', namespace, 'delete', '--wait', `pod/${pod}`)
  const note = 'From the archive, without times: build-ID-compile.\n'
  expect(await run(`logs ${name} ${pod}`, keys.vera)).toEqual({ code: 0, text: lines + note })
  expect((await run(`logs ${name} compile --tail 1 --timestamps`)).text).toBe(`compile ends\n${note}`)
  expect((await run(`logs ${name}`)).text).toBe(`build-ID-compile: compile begins\nbuild-ID-compile: compile ends\n${note}`)
  expect((await run(`get ${name}`)).text).toContain('build-ID-compile (archived)\n')
  expect((await run(`logs ${name} -f`)).text).toContain('Leave out --follow')
  expect(await run(`logs ${name} ${pod} -f`)).toMatchObject({ code: 3, text: expect.stringContaining('can be in the archive') })
  expect((await run(`logs ${name} ${name}-lint`)).text).toContain('as the format says\nFrom the archive')
  expect(await run(`logs ${name} ${name}-never`)).toMatchObject({
    code: 3,
    text: expect.stringContaining('neither in the cluster nor in the archive'),
  })
  await keep(`staging/${name}/${pod}/main.log`)
  const refused = await run(`logs ${name}`)
  expect(refused).toMatchObject({ code: 1, text: expect.stringContaining('which the runtime does not read') })
  expect(refused.text).not.toContain('secret of')
  await keep(key)
  await moto.service.stop()
  expect(await run(`logs ${name} ${pod}`)).toMatchObject({
    text: expect.stringContaining('archive of workflow logs does not answer'),
  })
})

test('a workflow is submitted once more, terminated and deleted, one that waits for a semaphore says so, and one that is gone is reported (O050, O053, O061)', async () => {
  const [name = ''] = await names()
  expect(await run(`resubmit ${name} -p revision=next`)).toEqual({ code: 0, text: 'workflow/build-ID submitted\n' })
  const again = (await names()).find((one) => one !== name) ?? ''
  const semaphore = `${namespace}/ConfigMap/limits/deploy`
  await control(again, {
    phase: 'Pending',
    message: `Waiting for ${semaphore} lock. Lock status: 0/1`,
    synchronization: { semaphore: { waiting: [{ semaphore, holders: [name] }] } },
  })
  expect((await run(`get ${again}`)).text).toMatchInlineSnapshot(`
    "Workflow:  build-ID
    Template:  build
    Phase:  pending
    Message:  Waiting for PROD/ConfigMap/limits/deploy lock. Lock status: 0/1
    Waits for:  the semaphore PROD/ConfigMap/limits/deploy
    Submitted by:  dan
    Repeats:  build-ID
    Created:  TIME (AGE ago)

    PARAMETER  VALUE
    revision  next
    note  a=b
    "
  `)
  expect(await run(`terminate ${again}`)).toEqual({ code: 0, text: 'workflow/build-ID terminating\n' })
  expect(await live(again)).toMatchObject({
    metadata: { labels: { [`${PREFIX}/resubmitted-from-workflow`]: name, [`${PREFIX}/action`]: 'Terminate' } },
    spec: {
      shutdown: 'Terminate',
      arguments: {
        parameters: [
          { name: 'revision', value: 'next' },
          { name: 'note', value: 'a=b' },
        ],
      },
    },
  })
  await cluster.kube.patch(refTo(again), { metadata: { finalizers: ['workflows.argoproj.io/artifact-gc'] } })
  expect(await run(`delete ${again}`)).toMatchObject({ code: 2, text: expect.stringContaining('Add --yes') })
  expect(await run(`delete ${again} --yes --force`)).toEqual({ code: 0, text: 'workflow/build-ID deleted\n' })
  expect(await cluster.kube.find(refTo(again))).toBeUndefined()
  await untilReported(again, { phase: 'pending', goneAt: expect.any(Number) })
  expect(await run(`delete ${again} --yes`)).toMatchObject({ code: 3 })
})

test('any workflow needs the right to manage the runtime, in its namespace only, and each change is in the audit log (O050)', async () => {
  const call = async (path: string, body: object, key: string): Promise<{ readonly status: number; readonly body: string }> => {
    const answer = await fetch(`${url}/app-proxy/api${path}`, {
      method: 'POST',
      headers: { authorization: key, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    return { status: answer.status, body: await answer.text() }
  }
  const manifest = (metadata: object): object => ({
    manifest: { apiVersion: 'argoproj.io/v1alpha1', kind: 'Workflow', metadata, spec: { entrypoint: 'main' } },
  })
  const once = {
    generateName: 'once-',
    labels: { [`${PREFIX}/creator`]: 'somebody' },
    finalizers: ['x'],
    ownerReferences: [{ kind: 'Pod' }],
  }
  expect(await call('/workflows', manifest(once), keys.dan)).toMatchObject({
    status: 403,
    body: expect.stringContaining('manage-gitops'),
  })
  expect((await call('/workflows', manifest({ ...once, namespace: 'kube-system' }), http.adminToken)).status).toBe(400)
  expect((await call('/workflows', manifest({}), http.adminToken)).status).toBe(400)
  expect((await call(`/namespaces/other/workflows`, manifest(once), http.adminToken)).status).toBe(404)
  expect((await call(`/namespaces/${namespace}/workflows`, manifest(once), http.adminToken)).status).toBe(200)
  const made = (await names()).find((one) => one.startsWith('once-')) ?? ''
  const { metadata } = await live(made)
  expect(metadata).not.toHaveProperty('finalizers')
  expect(metadata).not.toHaveProperty('ownerReferences')
  expect(metadata.labels?.[`${PREFIX}/creator-preferred-username`]).toBe('admin')
  const records = async (): Promise<readonly string[]> => {
    const { items } = await http.admin.audit.list({ query: { order: 'oldest', limit: 100, q: 'workflow' } })
    return items.map(({ action, result, detail = '' }) =>
      fixed(`${action.split('/app-proxy/api')[1] ?? ''} ${result}: ${detail}`),
    )
  }
  await expect.poll(async () => (await records()).at(-1)).toBe('/namespaces/{namespace}/workflows done: workflow once-ID')
  expect(await records()).toMatchInlineSnapshot(`
    [
      "/workflow-templates/{name}/submit denied:",
      "/workflow-templates/{name}/submit failed:",
      "/workflow-templates/{name}/submit done: workflow build-ID",
      "/workflows/{name}/stop done:",
      "/workflows/{name}/retry failed:",
      "/workflows/{name}/stop failed:",
      "/workflows/{name}/retry done:",
      "/workflows/{name}/resubmit done: workflow build-ID",
      "/workflows/{name}/terminate done:",
      "/workflows/{name} done:",
      "/workflows/{name} failed:",
      "/workflows denied:",
      "/namespaces/{namespace}/workflows failed:",
      "/namespaces/{namespace}/workflows done: workflow once-ID",
    ]
  `)
})

const base64 = (text: string): string => Buffer.from(text).toString('base64')

test('the workflow of the chart reads an image and its issue in one report, and the job that waits for it is told (O083)', async () => {
  const login = { user: 'mira', password: 'p:w' }
  const jiraLogin = basicAuth('mira@example.com', 'jira-token')
  await using registry = await startRegistry({ auth: login })
  const fields = { summary: 'Mend the cart', status: { name: 'Done' }, assignee: { displayName: 'Mira' } }
  await using jira = await startJira({ key: 'SHOP-12', fields }, jiraLogin)
  const authorization = basicAuth(login.user, login.password)
  const { digest } = await pushImage(registry, { name: 'acme/shop', tag: 'v1', authorization })
  const template = await renderImageTemplate(namespace, {
    global: {
      codefresh: { url: http.server.url, accountId: http.server.app.accountId },
      runtime: { name: 'prod', tokenSecret: TOKEN_SECRET },
    },
    'tunnel-client': { tunnelServer: { subdomainHost: 'tunnels.example.com' } },
    'app-proxy': { workflows: { enabled: true }, 'image-enrichment': { enabled: true } },
  })
  const secret = (name: string, stringData: object): object => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace },
    stringData,
  })
  const auths = { [registry.domain]: { auth: base64(`${login.user}:${login.password}`) } }
  await cluster.apply(
    template,
    secret('registry-integration-acme', { '.dockerconfigjson': JSON.stringify({ auths }) }),
    secret('jira-integration-default', { url: jira.url, username: 'mira@example.com', token: 'jira-token' }),
  )
  const variables = {
    CF_IMAGE: `${registry.domain}/acme/shop:v1`,
    CF_CONTAINER_REGISTRY_INTEGRATION: 'acme',
    CF_WORKFLOW_NAME: 'shop #7',
    CF_WORKFLOW_URL: 'https://ci.test/7',
    CF_ENRICHERS: 'git, jira',
    CF_GIT_REPO: 'acme/shop',
    CF_GIT_BRANCH: 'main',
    CF_GITHUB_TOKEN: 'ghp_secret',
    CF_JIRA_MESSAGE: 'feature/shop-12-cart, shop-13',
    CF_JIRA_PROJECT_PREFIX: 'SHOP',
  }
  const job = (given: object, key: string): Promise<Response> => {
    const pairs = Object.entries(given).map(([name, value]) => `${name}=${value}`)
    return fetch(`${url}/app-proxy/api/image-report`, { headers: { authorization: key, CF_DATA: base64(pairs.join('&')) } })
  }
  expect((await job(variables, keys.vera)).status).toBe(403)
  expect((await job({ ...variables, CF_JIRA_INTEGRATION: '../runtime-token' }, keys.dan)).status).toBe(400)

  const answer = await job(variables, keys.dan)
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8'])
  if (answer.body === null) throw new Error('the answer has no body')
  const said: (readonly [string, string])[] = []
  for await (const event of eventsOf(answer.body)) {
    said.push(event)
    if (said.filter(([name]) => name === 'heartbeat').length !== 2 || event[0] !== 'heartbeat') continue
    const name = /workflow (\S+) reads/.exec(said[0]?.[1] ?? '')?.[1] ?? ''
    const workflow = await live(name)
    // A login of the job is in no object of the cluster.
    expect(JSON.stringify(workflow)).not.toContain('ghp_secret')
    const outputs = await playTasks({
      kube: cluster.kube,
      namespace,
      template,
      workflow,
      run: (words) => windlass(http, words, ''),
    })
    expect([...outputs.keys()]).toEqual(['report', 'git-info', 'jira-info'])
    await control(name, { phase: 'Succeeded' })
  }
  expect(said.map(([name]) => name).filter((name) => name !== 'heartbeat')).toEqual(['info', 'warn', 'end'])
  expect(said[1]).toEqual(['warn', expect.stringContaining('CF_GITHUB_TOKEN')])
  expect(said.find(([name]) => name === 'heartbeat')?.[1]).toBe('500')
  const { items } = await http.admin.imageReports.list()
  expect(items).toEqual([
    expect.objectContaining({
      image: `${registry.domain}/acme/shop`,
      digest,
      tags: ['v1'],
      runtime: 'prod',
      workflow: { name: 'shop #7', url: 'https://ci.test/7' },
      git: { repo: 'acme/shop', branch: 'main' },
      issues: [{ key: 'SHOP-12', title: 'Mend the cart', status: 'Done', assignee: 'Mira', url: `${jira.url}/browse/SHOP-12` }],
    }),
  ])
})
