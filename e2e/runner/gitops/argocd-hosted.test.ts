/**
 * A hosted runtime by docs/operate/hosted-runtime.md, whose commands of `windlass` are typed as the page has them: an Argo CD whose rights end at its namespace, chart and runtime in the cluster of the server, and a second API server as
 * the cluster of the account. All policies of the namespace are enforced.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { startApiServer, type ApiServer } from '../../support/api-server.ts'
import { startArgoCdOfNamespace } from '../../support/argocd.ts'
import { eventually } from '../../support/eventually.ts'
import { joinGitea, type GiteaUser } from '../../support/gitea.ts'
import { enforcePolicies } from '../../support/network-policies.ts'
import { isSynced, untilApplication } from './argocd-runtime.ts'
import { readBlocks } from './guide-page.ts'
import { openTypist, type Typist } from './page-typist.ts'
import { configMap } from './repository-objects.ts'
import { managerOf, PATIENCE, repositoryLogin } from './repository-scene.ts'
import { askFromPod, openGitopsScene, serviceAddress, type GitopsScene } from './scene.ts'

const PAGE = 'operate/hosted-runtime.md'
const NAMESPACE = `hosted-${process.pid}`
const ADDRESS = serviceAddress(4)
const LIST = '/app-proxy/api/git-integrations'

const argo = inject('argoCd')
const forge = joinGitea(inject('gitea'))
const closing = new AsyncDisposableStack()
let scene: GitopsScene
let second: ApiServer
let reader: GiteaUser
let typist: Typist

beforeAll(async () => {
  scene = closing.use(await openGitopsScene())
  second = closing.use(await startApiServer(scene.cluster))
  closing.use(await startArgoCdOfNamespace(scene.cluster, NAMESPACE))
  reader = await forge.addUser('tenant')
  for (const name of ['gitops', 'apps'])
    await reader.api('POST', '/user/repos', { name, private: true, default_branch: 'main', auto_init: true })
  await scene.cluster.apply(repositoryLogin(NAMESPACE, forge.url, reader))
  const folder = await mkdtemp(join(tmpdir(), 'windlass-hosted-'))
  closing.defer(() => rm(folder, { recursive: true, force: true }))
  const kubeconfig = join(folder, 'kubeconfig')
  await writeFile(kubeconfig, await managerOf(second, 'production'))
  const words = { 'gitops cluster': `--kubeconfig ${kubeconfig}`, 'gitops uninstall': '--yes' }
  typist = closing.use(await openTypist({ scene, address: ADDRESS, local, words, reader }))
})
afterAll(() => closing.disposeAsync())

/** Replaces the names of the page. */
const local = (text: string): string =>
  text
    .replaceAll(/(namespace) acme\b/g, `$1 ${NAMESPACE}`)
    .replaceAll('https://git.example.com/acme', `${forge.url}/${reader.name}`)
    .replaceAll('https://git.example.com', forge.url)
    // The server, the forge and both API servers of this run.
    .replaceAll('10.1.0.0/24', `${scene.cluster.host}/32`)

const kubectl = (...args: string[]): Promise<string> => scene.cluster.kubectl('--namespace', NAMESPACE, ...args)

/** Returns the status that a pod of the runtime gets from a URL, or the code of its failure. */
const ask = async (url: string): Promise<string> => {
  const of = ['--selector', 'app.kubernetes.io/name=cap-app-proxy', '--output', 'jsonpath={.items[0].metadata.name}']
  const name = await kubectl('get', 'pods', ...of)
  return askFromPod(scene.cluster, { namespace: NAMESPACE, name }, url)
}

const arrived = async (name: string): Promise<boolean> =>
  (await second.kube.find({ kind: 'ConfigMap', namespace: 'shop', name })) !== undefined

test('a hosted runtime is installed by its page, deploys to the cluster of its account while policies refuse what the page says, and is removed (O079)', async () => {
  const [first, ...others] = await readBlocks(PAGE, 'Install')
  // Argo CD is there, without the setting of the last command.
  const [create, label, apply, ...settings] = (first?.text ?? '').trim().split('\n')
  expect([create, label]).toEqual([
    'kubectl create namespace acme',
    'kubectl label namespace acme pod-security.kubernetes.io/enforce=restricted',
  ])
  expect(apply).toMatch(/\/namespace-install\.yaml$/)
  const install = others.find(({ text }) => text.startsWith('windlass gitops install'))?.text ?? ''
  for (const { path, text } of others) if (path !== undefined) await typist.write(path, text)
  await expect(typist.type(install)).rejects.toMatchObject({
    cause: { message: expect.stringContaining('Let it leave them out: kubectl') },
  })
  await typist.type(settings.join('\n'))
  expect(await typist.type(install)).toBe('gitops-runtime/hosted installed')
  const answer = await scene.call('hosted', LIST, { authorization: scene.apiKey })
  expect([answer.status, JSON.parse(answer.text)]).toEqual([200, { items: [] }])
  const projects = 'jsonpath={range .items[*]}{.metadata.name} {.spec.destinations[*].server} {end}'
  expect(await kubectl('get', 'appprojects', '--output', projects)).toBe(
    'default !https://kubernetes.default.svc windlass-runtime https://kubernetes.default.svc',
  )
  expect(await scene.client.gitopsRuntimes.get('hosted')).toMatchObject({
    installation: { type: 'HELM_HOSTED', isManaged: true },
  })

  expect(await ask(argo.url)).toMatch(/^\d+$/)
  await using _policies = await enforcePolicies(scene.cluster, NAMESPACE)
  const commit = async (path: string, text: string): Promise<void> => {
    const change = { message: `Add ${path}`, branch: 'main', content: Buffer.from(text).toString('base64') }
    await reader.api('POST', `/repos/${reader.name}/apps/contents/${path}`, change)
  }
  await commit('applications/README.md', 'Applications of the account.\n')
  await commit('objects/a.yaml', configMap('from-hosted'))
  for (const { text } of await readBlocks(PAGE, 'What the account does')) await typist.type(text)
  const at = { cluster: scene.cluster, argo: { ...argo, namespace: NAMESPACE } }
  for (const name of ['hosted-isc', 'production', 'apps']) await untilApplication(at, name, isSynced)
  const source = '--repo https://git.example.com/acme/apps.git --path objects'
  const target = '--dest-name production --dest-namespace shop --sync-option CreateNamespace=true'
  await typist.type(`windlass gitops app create hosted shop ${source} ${target} --sync-policy automatic --wait`)
  await untilApplication(at, 'shop', isSynced)
  expect(await arrived('from-hosted')).toBe(true)
  // Argo CD of another account listens there.
  expect(await ask(argo.url)).toBe('ECONNREFUSED')
  expect(await scene.call('hosted', LIST, { authorization: scene.apiKey })).toMatchObject({ status: 200 })
  await expect.poll(async () => (await scene.client.gitopsStatus.get('hosted')).problems, PATIENCE).toEqual([])

  const [uninstall = '', removal = ''] = (await readBlocks(PAGE, 'Remove'))[0]?.text.trim().split('\n') ?? []
  expect(await typist.type(uninstall)).toBe('gitops-runtime/hosted deleted\nrelease/windlass-gitops-runtime deleted')
  expect((await kubectl('get', 'appprojects', '--output', 'name')).split('\n')).toHaveLength(2)
  expect(await arrived('from-hosted')).toBe(true)
  await expect(scene.client.gitopsRuntimes.get('hosted')).rejects.toMatchObject({ code: 'not-found' })
  expect(removal).toBe('kubectl delete namespace acme')
  await eventually('nothing of the runtime runs', async () =>
    (await kubectl('get', 'pods', '--selector', 'app.kubernetes.io/part-of=windlass-gitops-runtime', '--output', 'name')) === ''
      ? true
      : undefined,
  )
})
