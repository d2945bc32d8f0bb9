/**
 * The tour of docs/guides/gitops.md, typed as the page has it: chart and runtime in the cluster, a real forge, the shared Argo CD. Only names of the page are replaced by those of
 * this run, and the installation of Argo CD from the internet by the one that runs.
 */
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { joinGitea } from '../../support/gitea.ts'
import { ensureImages } from '../../support/images.ts'
import { runProgram } from '../../support/process.ts'
import { clearRuntime } from './runtime-process.ts'
import { readBlocks, type PageBlock } from './guide-page.ts'
import { openTypist, type Typist } from './page-typist.ts'
import { openGitopsScene, serviceAddress, type GitopsScene } from './scene.ts'

const PAGE = 'guides/gitops.md'
const TITLE = 'From a bare cluster to a promotion'
/** What the page deploys, and what this run deploys instead. */
const [IMAGE, LOCAL] = ['traefik/whoami', 'windlass.local/whoami']
const TAGS = ['v1.10.4', 'v1.11.0']
const ADDRESS = serviceAddress(2)

const argo = inject('argoCd')
const forge = joinGitea(inject('gitea'))
let scene: GitopsScene
let typist: Typist

beforeAll(async () => {
  const { PAUSE_IMAGE = '' } = await ensureImages('pause')
  scene = await openGitopsScene()
  for (const tag of TAGS) await runProgram('docker', ['tag', PAUSE_IMAGE, `${LOCAL}:${tag}`])
  await scene.cluster.load(...TAGS.map((tag) => `${LOCAL}:${tag}`))
  const acme = await forge.addUser('acme')
  for (const name of ['gitops', 'apps'])
    await acme.api('POST', '/user/repos', { name, private: true, default_branch: 'main', auto_init: true })
  typist = await openTypist({ scene, address: ADDRESS, local, reader: acme })
})
afterAll(async () => {
  if (scene === undefined) return
  const { kubectl } = scene.cluster
  await scene.windlass('gitops', 'uninstall', 'prod', '--yes', '--kube-namespace', argo.namespace)
  await clearRuntime(scene.cluster, argo.namespace)
  await kubectl('--namespace', argo.namespace, 'delete', 'secret', 'forge', '--ignore-not-found')
  await runProgram('docker', ['rmi', ...TAGS.map((tag) => `${LOCAL}:${tag}`)])
  await typist?.[Symbol.asyncDispose]()
  await scene[Symbol.asyncDispose]()
})

/** Replaces the names of the page. */
const local = (text: string): string =>
  text
    .replaceAll(/(?<=--(?:kube-)?namespaces?,? )argocd\b/g, argo.namespace)
    .replaceAll('https://git.example.com', forge.url)
    .replaceAll(IMAGE, LOCAL)
    .replaceAll('acme-staging', argo.staging)
    .replaceAll('acme-production', argo.production)

const imageIn = (namespace: string): Promise<string> => {
  const image = 'jsonpath={.spec.template.spec.containers[0].image}'
  return scene.cluster.kubectl('--namespace', namespace, 'get', 'deployment', 'shop', '--output', image)
}
/** Waits until the server knows that the application has a commit, which the page leaves to the reader. */
async function reported(name: string, revision: string): Promise<void> {
  const listed = async (): Promise<string> => (await scene.windlass('get', 'applications', '--runtime', 'prod')).stdout
  const row = new RegExp(` ${name} +default +healthy +synced +${revision.slice(0, 12)}`)
  await expect.poll(listed, { timeout: 120_000, interval: 500 }).toMatch(row)
}

test('the tour of the page leads from an empty cluster to an application, a commit and a promotion (O063, O064)', async () => {
  const blocks = await readBlocks(PAGE, TITLE)
  const [first, ...others] = blocks
  // Argo CD runs already.
  expect(first?.text).toMatch(/^kubectl create namespace argocd\nkubectl apply .*\/install\.yaml\n$/)
  const printed: string[] = []
  const follow = async ({ path, text }: PageBlock): Promise<void> => {
    if (path !== undefined) return typist.write(path, text)
    if (text.startsWith('windlass gitops promote')) {
      await reported('shop-staging', await typist.type('git rev-parse HEAD'))
      expect([await imageIn(argo.staging), await imageIn(argo.production)]).toEqual([`${LOCAL}:v1.11.0`, `${LOCAL}:v1.10.4`])
    }
    printed.push(await typist.type(text))
    return undefined
  }
  for (const block of others) await follow(block)
  expect(await imageIn(argo.production)).toBe(`${LOCAL}:v1.11.0`)
  // The installation alone has brought all parts. The tour gives the runtime no token of Argo CD.
  const status = await scene.client.gitopsStatus.get('prod')
  expect(status.checks.filter(({ status: found }) => found !== 'successful')).toMatchObject([
    { name: 'eventReporterArgoCDToken', status: 'unknown' },
  ])
  expect(status).toMatchObject({
    syncMode: 'helm',
    reporters: [{ shard: 0, shards: 1, isBlind: false, isSilent: false }],
    problems: [],
  })
  const [last = ''] = printed.slice(-1)
  expect(last).toMatch(/Promote shop to prod\/.*\/shop-production/)
  expect(last).toContain(' shop/production/deployment.yaml | 2 +-')
  // Every section has had a command.
  expect(new Set(others.map(({ heading }) => heading)).size).toBe(6)
})
