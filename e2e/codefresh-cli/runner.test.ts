/** Agents, runtime environments, clusters and the offline install path with the public command line. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { idIn, openCodefresh, rowsOf, type Codefresh } from './client.ts'

let codefresh: Codefresh

beforeAll(async () => {
  codefresh = await openCodefresh()
})

afterAll(() => codefresh[Symbol.asyncDispose]())

/** Returns the agent of a token. */
const agentOf = (token: string): Promise<unknown> => codefresh.admin.withToken(token).agents.self()
const tokenIn = (text: string): string => /[0-9a-f]{24}\.\S+/.exec(text)?.[0] ?? ''

/** Stores a runtime environment for pods of a namespace. */
const register = (name: string): Promise<string> =>
  codefresh.must(
    'install',
    'runtime',
    '--runtime-name',
    name,
    '--runtime-kube-context-name',
    'ctx',
    '--runtime-kube-namespace',
    'ns',
    '--skip-cluster-creation',
    '--platform-only',
  )

test('creates, lists, changes and deletes agents (F027)', async () => {
  const printed = await codefresh.must('create', 'agent', 'first')
  expect(printed).toMatch(/^Agent: "first" created\n[0-9a-f]{24}\.\S+\n$/)
  await register('cluster/of-agent')
  await codefresh.must('patch', 'agent', 'first', '--runtimes', 'cluster/of-agent', '--new-name', 'second')
  expect(await codefresh.admin.agents.get('second')).toMatchObject({ runtimes: ['cluster/of-agent'] })
  const agents = rowsOf(await codefresh.must('get', 'agents'))
  expect(agents).toContainEqual(['second', 'cluster/of-agent', 'N/A', 'N/A'])
  await codefresh.must('patch', 'agent', 'second', '--runtimes', '')
  await codefresh.must('delete', 'agent', 'second')
  await expect(codefresh.admin.agents.get('second')).rejects.toMatchObject({ code: 'not-found' })
  expect(await codefresh.run('delete', 'agent', 'second')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('No such agent'),
  })
  await expect(agentOf(tokenIn(printed))).rejects.toMatchObject({ code: 'unauthenticated' })
})

test('shows, changes and deletes runtime environments with their versions and images (F028)', async () => {
  await register('cluster/one')
  const show = async (...words: string[]): Promise<unknown> =>
    JSON.parse(await codefresh.must('get', 're', 'cluster/one', ...words))
  expect(await show('-o', 'json')).toMatchObject({ version: 1, metadata: { name: 'cluster/one', agent: true } })
  expect(await show('--extend', '-o', 'json')).toMatchObject({
    runtimeScheduler: { cluster: { namespace: 'ns' } },
  })
  const document = {
    metadata: { name: 'cluster/one' },
    extends: ['system/default/hybrid/k8s_low_limits'],
    runtimeScheduler: { cluster: { namespace: 'other', clusterProvider: { selector: 'ctx' } } },
    dockerDaemonScheduler: { cluster: { namespace: 'other', clusterProvider: { selector: 'ctx' } } },
  }
  await codefresh.must('patch', 're', '-f', await codefresh.file('re.json', document))
  expect(await show('-o', 'json')).toMatchObject({ version: 2, runtimeScheduler: { cluster: { namespace: 'other' } } })
  expect(await show('--history')).toMatchObject([{ version: 2 }, { version: 1 }])
  expect(rowsOf(await codefresh.must('get', 're')).map(([name]) => name)).toContain('cluster/one')
  expect(await codefresh.must('get', 're-base-images', 'cluster/one')).toMatch(/dind|engine/i)
  await codefresh.must('delete', 're', 'cluster/one')
  await expect(codefresh.admin.runtimes.get('cluster/one')).rejects.toMatchObject({ code: 'not-found' })
})

test('installs a runtime and attaches it to an agent on the server only (F029, F030)', async () => {
  await codefresh.must('create', 'agent', 'holder')
  expect(await register('cluster/attached')).toContain('cluster/attached')
  expect(
    await codefresh.run(
      'install',
      'runtime',
      '--runtime-name',
      'cluster/attached',
      '--runtime-kube-context-name',
      'ctx',
      '--runtime-kube-namespace',
      'elsewhere',
      '--skip-cluster-creation',
      '--platform-only',
    ),
  ).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('already exists'),
  })
  await codefresh.must('attach', 'runtime', '--runtime-name', 'cluster/attached', '--agent-name', 'holder', '--platform-only')
  expect(await codefresh.admin.agents.get('holder')).toMatchObject({ runtimes: ['cluster/attached'] })
})

test('installs an agent with its runtime on the server only, and prints the token last (F031)', async () => {
  const names = [
    '--name',
    'installed',
    '--runtime-name',
    'cluster/installed',
    '--kube-context-name',
    'ctx',
    '--kube-namespace',
    'ns',
  ]
  const printed = await codefresh.must(
    'install',
    'agent',
    ...names,
    '--agent-kube-namespace',
    'ns',
    '--install-runtime',
    '--skip-cluster-creation',
    '--platform-only',
  )
  const token = printed.trim().split('\n').at(-1) ?? ''
  expect(await agentOf(token)).toMatchObject({ name: 'installed', runtimes: ['cluster/installed'] })
})

test('writes Helm values for a new runner, and shows its state afterwards (F032, F033)', async () => {
  const names = ['--name', 'runner', '--kube-context-name', 'ctx', '--kube-namespace', 'builds']
  await codefresh.must(
    'runner',
    'init',
    '--yes',
    '--generate-helm-values-file',
    'values.yaml',
    ...names,
    '--skip-cluster-integration',
    '--exec-demo-pipeline',
    'false',
    '--set-default-runtime',
    'false',
  )
  const { global: values } = Values.parse(parse(await codefresh.read('values.yaml')))
  expect(values).toMatchObject({
    namespace: 'builds',
    codefreshHost: codefresh.url,
    agentName: 'runner',
    runtimeName: 'ctx/builds',
  })
  expect(await agentOf(values.agentToken)).toMatchObject({ id: values.agentId, name: 'runner', runtimes: ['ctx/builds'] })
  expect(values.keys).toMatchObject({ ca: expect.stringContaining('BEGIN CERTIFICATE') })
  expect((await codefresh.admin.installations.list()).items).toHaveLength(1)
  expect(await codefresh.must('runner', 'info')).toMatch(/runner +ctx\/builds/)
})

const Values = z.object({
  global: z.looseObject({ agentToken: z.string(), agentId: z.string(), keys: z.unknown() }),
})

test('creates the test pipeline, runs it and follows its log (F034)', async () => {
  const { items } = await codefresh.admin.runtimes.list()
  const local = items.find(({ type }) => type !== 'kubernetes')?.name ?? ''
  const run = await codefresh.run('runner', 'execute-test-pipeline', '--runtime-name', local)
  // Its image is on a registry of the internet.
  expect(run.stdout).toMatch(/Step: /)
  const [build] = (await codefresh.admin.builds.list({ query: { pipeline: 'Runner/CF_Runner_Demo' } })).items
  expect(build).toMatchObject({ runtime: local, initiator: expect.any(String), finishedAt: expect.any(Number) })
  expect(run.stdout).toContain(build?.id)
  expect(await codefresh.must('runner', 'info')).toContain("Test pipeline with the name: 'CF_Runner_Demo' exists")
})

test('lists and removes clusters of deploy steps (F035)', async () => {
  await codefresh.admin.clusters.create({ name: 'prod', server: 'https://cluster.example.com', token: 'cluster-token' })
  const [row = []] = rowsOf(await codefresh.must('get', 'clusters'))
  expect(row).toEqual([idIn(row[0] ?? ''), 'prod'])
  await codefresh.must('delete', 'cluster', 'prod')
  expect((await codefresh.admin.clusters.list()).items).toEqual([])
})

test('lists, assigns and deletes layers of runtime environments as an admin (F036)', async () => {
  const name = 'system/own'
  await codefresh.admin.runtimeBases.put(name, { spec: { description: 'mine' } })
  expect(rowsOf(await codefresh.must('get', 'sys-re')).map(([one]) => one)).toContain(name)
  expect(JSON.parse(await codefresh.must('get', 'sys-re', name, '-o', 'json'))).toMatchObject({ metadata: { name } })
  await codefresh.must('assign', 'sys-re', name, 'default')
  const { spec } = await codefresh.admin.runtimeBases.get(name)
  expect(spec).toMatchObject({ accounts: [expect.stringMatching(/^[0-9a-f]{24}$/)] })
  const unknown = await codefresh.run('assign', 'sys-re', name, 'nobody')
  expect(unknown).toMatchObject({ code: 1, stderr: expect.stringContaining('Accounts do not exist: nobody') })
  await codefresh.must('delete', 'sys-re', name)
  expect(rowsOf(await codefresh.must('get', 'sys-re')).map(([one]) => one)).not.toContain(name)
})

test('lists the images of builds (F043)', async () => {
  expect(await codefresh.must('get', 'images')).toMatch(/^(?:no available resources)?\s*$/)
})
