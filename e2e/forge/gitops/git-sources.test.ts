/** Git sources in the shared configuration repository: changes, refusals, files of people, and commits that meet others. */
import { once } from 'node:events'
import { readFileSync, rmSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { nodeTransport, proxyFrom } from '@windlass/kit'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import type { Answer } from '../../../packages/app-proxy/test/support/scene.ts'
import { NAMESPACE } from '../../../packages/app-proxy/test/support/kube-api.ts'
import { callWindlass } from '../../../packages/cli/test/windlass.ts'
import { selfSigned } from '../../support/self-signed.ts'
import { passedBy, startEventSource, type Event } from './event-source.ts'
import { openGitopsScene, type GitopsScene } from './gitops-scene.ts'
import { callSdk } from './go-sdk.ts'

let at: GitopsScene

beforeAll(async () => {
  at = await openGitopsScene()
  const body = { repository: `${at.url}/ann/gitops.git` }
  expect((await at.call('PUT', '/shared-configuration', { body })).status).toBe(200)
})
beforeEach(() => {
  at.beforePush = async () => undefined
})
afterAll(() => at[Symbol.asyncDispose]())

test('a Git source is created, listed, edited and deleted, each with one commit of the user (O035)', async () => {
  const repository = `${at.url}/ann/apps.git/prod?ref=main`
  const created = await at.windlass(
    `gitops git-source create prod apps --git-src-repo ${repository} --label team=shop`,
    at.keys.ben,
  )
  expect(created).toMatchObject({ code: 0, stdout: 'git-source/apps created\n' })
  expect(await at.inClone('gitops', 'log', '--format=%an: %s', '-1')).toBe(
    'ben: Create the Git source apps of the GitOps runtime prod\n',
  )
  expect(await at.inClone('gitops', 'show', '--format=', '--name-status', 'HEAD')).toBe('A\tresources/runtimes/prod/apps.yaml\n')
  expect(await at.read('resources/runtimes/prod/apps.yaml')).toContain(
    `    repoURL: ${at.url}/ann/apps.git\n    path: prod\n    targetRevision: main\n`,
  )
  const again = await at.windlass(
    `gitops git-source create prod apps --git-src-repo ${repository} --label team=shop`,
    at.keys.ben,
  )
  expect(again).toEqual({ code: 0, stdout: 'git-source/apps unchanged\n', stderr: '' })
  expect((await at.windlass('gitops git-source list prod', at.keys.vic)).stdout).toBe(
    `NAME  TYPE      REPOSITORY${' '.repeat(repository.length - 'REPOSITORY'.length)}  INCLUDE  EXCLUDE\napps  standard  ${repository}  *\n`,
  )
  const edited = await at.windlass('gitops git-source edit prod apps --include *.yaml --message Narrow', at.keys.ben)
  expect(edited.stdout).toBe('git-source/apps changed\n')
  expect(await at.inClone('gitops', 'show', '--format=%s', 'HEAD')).toMatch(
    /^Narrow\n[\s\S]*-\s+include: "\*"\n\+\s+include: "\*.yaml"\n/,
  )
  // Without a right to push people still see them.
  expect((await at.call('GET', '/git-sources', { by: at.keys.rea })).body.items).toMatchObject([{ name: 'apps' }])
  expect(await at.call('DELETE', '/git-sources/apps', { by: at.keys.ben })).toMatchObject({
    status: 403,
    body: { right: 'manage-gitops' },
  })
  expect((await at.windlass('gitops git-source delete prod apps')).stdout).toBe('git-source/apps deleted\n')
  expect(await at.filesOf('gitops')).not.toContain('resources/runtimes/prod/apps.yaml')
  expect((await at.windlass('gitops git-source delete prod apps')).code).toBe(3)
  expect((await at.windlass('gitops git-source list prod')).stderr).toBe('No Git sources found.\n')
})

/** An application in Git, with comments and an order of its own. */
const SHOP = (repo: string): string => `# by Mira
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: shop, namespace: ${NAMESPACE}}
spec:
  project: default
  source: {repoURL: ${repo}, path: deploy, targetRevision: r1} # pinned
  destination: {server: https://kubernetes.default.svc, namespace: shop}
`
const commits = async (): Promise<string[]> => (await at.inClone('apps', 'log', '--format=%an: %s')).trim().split('\n')

test('an application is committed to the only Git source by its user, once, and a dry run commits nothing (O038)', async () => {
  const repo = `${at.url}/ann/shop.git`
  const fields = `--repo ${repo} --path deploy --dest-namespace shop --sync-policy automatic --helm-set tag=1`
  const none = await at.windlass(`gitops app create prod api ${fields}`, at.keys.ben)
  expect(none).toMatchObject({ code: 3, stderr: expect.stringContaining('has no Git source') })
  await at.windlass(`gitops git-source create prod apps --git-src-repo ${at.url}/ann/apps.git/prod --include *.yaml`)
  const before = await commits()
  const dry = await at.windlass(`gitops app create prod api ${fields} --dry-run`, at.keys.ben)
  expect(dry).toMatchObject({ code: 0, stderr: expect.stringContaining('It would be prod/api.yaml of the branch main') })
  expect(await commits()).toEqual(before)
  const created = await at.windlass(`gitops app create prod api ${fields}`, at.keys.ben)
  expect(created).toMatchObject({ code: 0, stdout: 'application/api created\n' })
  expect(created.stderr).toContain('has no application for the Git source "apps"')
  expect(await at.inClone('apps', 'show', 'HEAD:prod/api.yaml')).toBe(dry.stdout)
  expect(await commits()).toEqual(['ben: Create the application api', ...before])
  const again = await at.windlass(`gitops app create prod api ${fields}`, at.keys.ben)
  expect(again).toEqual({ code: 0, stdout: 'application/api unchanged\n', stderr: '' })
  const other = await at.windlass(`gitops app create prod api ${fields} --project other`, at.keys.ben)
  expect(other).toMatchObject({ code: 1, stderr: expect.stringContaining('the file api.yaml of the Git source "apps" has it') })
  for (const [line, code, why] of [
    [`api2 ${fields} --git-file api.json`, 2, 'must end with .yaml'],
    [`api2 ${fields} --git-file ../api.yaml`, 2, 'contains ".."'],
    [`api2 ${fields} --git-file app.yaml`, 1, 'has a file app.yaml with something else'],
    [`apps ${fields}`, 1, 'an application of the runtime itself has it'],
    [`api2 ${fields} --git-source none`, 3, 'The Git source "none" does not exist.'],
    ['api2 --repo x --path deploy --dest-name eu --dest-server https://eu', 2, 'server and cluster exclude each other'],
    ['api2 --path deploy', 2, 'spec.source.repoURL'],
  ] as const)
    expect([line, await at.windlass(`gitops app create prod ${line}`)]).toEqual([
      line,
      expect.objectContaining({ code, stderr: expect.stringContaining(why) }),
    ])
  const [viewer, reader] = await Promise.all(
    [at.keys.vic, at.keys.rea].map((key) => at.windlass(`gitops app create prod api2 ${fields}`, key)),
  )
  expect(viewer).toMatchObject({ code: 4, stderr: expect.stringContaining('change-gitops') })
  expect(reader).toMatchObject({ code: 4, stderr: expect.stringContaining('may not push') })
  expect(await commits()).toHaveLength(before.length + 1)
})

test('an edit shows the difference, and changes only its fields in the file of a person (O039)', async () => {
  const repo = `${at.url}/ann/shop.git`
  const file = `a:   1 # odd\n---\n${SHOP(repo)}`
  await at.write('apps', 'prod/team.yaml', file)
  const before = await commits()
  const dry = await at.windlass('gitops app edit prod shop --revision r2 --dry-run', at.keys.vic)
  expect(dry.code).toBe(4)
  const shown = await at.windlass('gitops app edit prod shop --revision r2 --dry-run', at.keys.ben)
  expect(shown).toEqual({
    code: 0,
    stderr: '',
    stdout: expect.stringMatching(
      /^--- a\/prod\/team.yaml\n\+\+\+ b\/prod\/team.yaml\n@@ [^\n]*\n(?: [^\n]*\n)*-  source:[^\n]* r1} # pinned\n\+  source:[^\n]* r2} # pinned\n(?: [^\n]*\n)*$/,
    ),
  })
  const unsure = await at.windlass('gitops app edit prod shop --revision r2', at.keys.ben)
  expect(unsure).toMatchObject({ code: 2, stdout: shown.stdout, stderr: expect.stringContaining('Add --yes') })
  expect(await commits()).toEqual(before)
  const edited = await at.windlass('gitops app edit prod shop --revision r2 --yes --message Release', at.keys.ben)
  expect(edited).toMatchObject({ code: 0, stdout: `${shown.stdout}application/shop changed\n` })
  expect(await commits()).toEqual(['ben: Release', ...before])
  expect(await at.inClone('apps', 'show', 'HEAD:prod/team.yaml')).toBe(file.replace('r1', 'r2'))
  const same = await at.windlass('gitops app edit prod shop --revision r2 --yes', at.keys.ben)
  expect(same).toEqual({ code: 0, stdout: 'application/shop unchanged\n', stderr: '' })
  const wrong = await at.call('PUT', '/applications/shop/file', { body: { manifest: SHOP(repo).replace('path:', 'pth:') } })
  expect(wrong).toMatchObject({
    status: 400,
    body: { problems: [{ path: 'spec.source.pth', line: 7, hint: 'Did you mean path?' }] },
  })
  expect(await at.windlass('gitops app edit prod absent --revision r2 --yes')).toMatchObject({ code: 3 })
  // Without options the editor opens the document, with its comments.
  const inEditor = async (editor: string): ReturnType<typeof callWindlass> =>
    callWindlass(['gitops', 'app', 'edit', 'prod', 'shop', '--yes', '--runtime-url', at.scene.proxy.url], {
      ...process.env,
      WINDLASS_URL: at.server.server.url,
      WINDLASS_API_KEY: at.keys.ben,
      WINDLASS_CONFIG: '/nowhere/config',
      NO_COLOR: '1',
      VISUAL: '',
      EDITOR: editor,
    })
  expect(await inEditor("sed -i 's/# by Mira/# by Mira and Ben/'")).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('+# by Mira and Ben\n'),
  })
  expect(await inEditor("sed -i 's/# by Mira and Ben/# by Mira/'")).toMatchObject({ code: 0 })
  expect(await at.inClone('apps', 'show', 'HEAD:prod/team.yaml')).toBe(file.replace('r1', 'r2'))
  expect(await inEditor('true')).toMatchObject({ code: 0, stdout: 'application/shop unchanged\n' })
  expect(await inEditor('')).toMatchObject({ code: 2, stderr: expect.stringContaining('neither VISUAL nor EDITOR') })
  const bad = await inEditor("sed -i 's/path:/pth:/'")
  expect(bad).toMatchObject({ code: 2, stderr: expect.stringContaining('Did you mean path?') })
  const kept = /Your text is in (\S+)\.\n/.exec(bad.stderr)?.[1] ?? ''
  expect(readFileSync(kept, 'utf8')).toContain('pth: deploy')
  rmSync(dirname(kept), { recursive: true })
})

test('an edit keeps what another person commits meanwhile, and says so, or is refused for the same field (O029, O039)', async () => {
  const file = 'prod/team.yaml'
  const text = await at.inClone('apps', 'show', `HEAD:${file}`)
  const head = (): Promise<string> => at.inClone('apps', 'show', `HEAD:${file}`)
  const byBen = text.replace('by Mira', 'by Ben')
  /** What another person commits before the next push. */
  let pending: string | undefined = byBen
  at.beforePush = async () => {
    const other = pending
    pending = undefined
    if (other !== undefined) await at.write('apps', file, other)
  }
  const kept = await at.windlass('gitops app edit prod shop --dest-namespace shop-eu --yes')
  expect(kept).toMatchObject({ code: 0, stderr: expect.stringMatching(/of ann \("Write prod\/team.yaml"\) came meanwhile/) })
  const before = byBen.replace('namespace: shop}', 'namespace: shop-eu}')
  expect(await head()).toBe(before)
  const taken = before.replace('targetRevision: r2', 'targetRevision: r9')
  pending = taken
  const refused = await at.windlass('gitops app edit prod shop --revision r3 --yes')
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringMatching(/of ann .* has changed the same fields or lines/) })
  expect(await head()).toBe(taken)
  // A text is merged by lines, from the commit that the person has seen.
  const seen = await at.call('GET', '/applications/shop/file', { by: at.keys.vic })
  const { text: shown, revision: base } = seen.body as unknown as { text: string; revision: string }
  await at.write('apps', file, (await head()).replace('a:   1', 'a:   2'))
  const own = { text: shown.replace('by Ben', 'by Ann'), base }
  expect(await at.call('PUT', '/applications/shop/file', { body: own })).toMatchObject({
    status: 200,
    body: { others: [{ author: 'ann' }] },
  })
  expect(await head()).toBe(taken.replace('by Ben', 'by Ann').replace('a:   1', 'a:   2'))
  const late = { text: shown.replace('by Ben', 'by Eve'), base }
  expect(await at.call('PUT', '/applications/shop/file', { body: late })).toMatchObject({
    status: 409,
    body: { code: 'git-conflict' },
  })
  // A file that has been renamed meanwhile, with another change, is not taken for the one that the person has seen.
  const renamed = (await head()).replace('namespace: shop-eu}', 'namespace: shop-us}')
  await at.write('apps', 'prod/renamed.yaml', renamed)
  const { sha } = (await at.ann.api('GET', `/repos/ann/apps/contents/${file}`)) as { sha: string }
  await at.ann.api('DELETE', `/repos/ann/apps/contents/${file}`, { sha, message: 'Rename', branch: 'main' })
  expect(await at.call('PUT', '/applications/shop/file', { body: own })).toMatchObject({
    status: 409,
    body: { code: 'git-conflict', detail: expect.stringContaining(`does not have the application "shop" at the commit ${base}`) },
  })
  expect(await at.inClone('apps', 'show', 'HEAD:prod/renamed.yaml')).toBe(renamed)
  expect(at.scene.leftovers()).toEqual([])
})

test('a commit is not reported as failed because the cluster does not answer after it (O038)', async () => {
  at.scene.kube.objects.set('applications/apps', {
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'Application',
    metadata: { name: 'apps', namespace: NAMESPACE },
    spec: { project: 'default' },
  })
  at.scene.kube.beforePatch = () => {
    throw new Error('the cluster is away')
  }
  const line = `gitops app create prod cart --repo ${at.url}/ann/shop.git --path deploy --dest-namespace cart`
  const created = await at.windlass(line, at.keys.ben)
  expect(created).toMatchObject({
    code: 0,
    stdout: 'application/cart created\n',
    stderr: expect.stringContaining('looks at Git next'),
  })
  at.scene.kube.beforePatch = () => undefined
  expect(await at.inClone('apps', 'show', 'HEAD:prod/cart.yaml')).toContain('name: cart\n')
  at.scene.kube.objects.delete('applications/apps')
})

test('a delivery pipeline is one commit of its user, with a webhook whose calls have what its sensor looks at (O052)', async () => {
  await using source = await startEventSource()
  await at.server.admin.gitopsRuntimes.createToken('prod', { installation: { ingressUrl: source.url } })
  await at.ann.api('POST', '/user/repos', { name: 'site', private: true, default_branch: 'main', auto_init: true })
  await at.ann.api('PUT', '/repos/ann/site/collaborators/ben', { permission: 'write' })
  const site = `--repo ${at.url}/ann/site.git`
  const line = `gitops pipeline create prod site-test ${site} --branch main --event push --event pull-request --image node:24 --script make`
  const before = await commits()
  const dry = await at.windlass(`${line} --dry-run`)
  expect(dry).toMatchObject({ code: 0, stderr: expect.stringContaining('They would be files of the branch main') })
  expect(await commits()).toEqual(before)
  const url = `${source.url}/webhooks/${NAMESPACE}/site-test`
  const created = await at.windlass(line)
  expect(created).toMatchObject({ code: 0, stdout: 'delivery-pipeline/site-test created\n' })
  expect(created.stderr).toContain(`Webhook created: ${url}\n`)
  expect(await commits()).toEqual(['ann: Create the delivery pipeline site-test', ...before])
  const files = ['event-source', 'sensor', 'workflow-template'].map((kind) => `prod/site-test.${kind}.yaml`)
  expect(await at.inClone('apps', 'show', '--format=', '--name-status', 'HEAD')).toBe(
    files.map((file) => `A\t${file}\n`).join(''),
  )
  for (const file of files) expect(dry.stdout).toContain(`# ${file}\n${await at.inClone('apps', 'show', `HEAD:${file}`)}`)
  expect(await at.windlass(line)).toEqual({
    code: 0,
    stdout: 'delivery-pipeline/site-test unchanged\n',
    stderr: `Webhook there already: ${url}\n`,
  })
  expect((await at.windlass('gitops pipeline list prod', at.keys.vic)).stdout.replaceAll(/ {2,}/g, '  ')).toBe(
    [
      'NAME  SENSOR  EVENTS  TEMPLATE  GIT SOURCE  FILE',
      ...['pull-request', 'push'].map(
        (event) => `site-test-${event}  site-test  site-test/git  site-test  apps  prod/site-test.sensor.yaml`,
      ),
      '',
    ].join('\n'),
  )

  // What a push sends is what the event source and the sensor look at.
  source.events.length = 0
  await at.write('site', 'a.txt', 'b')
  const isPush = ({ header }: Event): boolean => header['X-Gitea-Event']?.[0] === 'push'
  await expect.poll(() => source.events.filter(isPush), { timeout: 30_000 }).toHaveLength(1)
  const [push] = source.events.filter(isPush)
  if (push === undefined) throw new Error('there is no push')
  const secret = at.scene.kube.objects.get('secrets/site-test-webhook')
  const owner = { 'windlass.io/git-source': 'apps', 'windlass.io/repository': `${at.url}/ann/site` }
  expect(secret?.metadata.annotations).toMatchObject(owner)
  // As the app-proxy writes it.
  const data = secret?.['data'] as { token: string } | undefined
  const token = Buffer.from(data?.token ?? '', 'base64').toString()
  expect(token).toMatch(/^[0-9a-f]{64}$/)
  expect([push.path, push.authorization]).toEqual([`/webhooks/${NAMESPACE}/site-test`, `Bearer ${token}`])
  expect(push.body).toMatchObject({ ref: 'refs/heads/main', after: (await at.inClone('site', 'rev-parse', 'HEAD')).trim() })
  const sensor = await at.inClone('apps', 'show', `HEAD:${files[1] ?? ''}`)
  expect(passedBy(sensor, push)).toEqual(['push'])
  const { header } = push
  // That of a push is an object.
  const body = push.body as object
  const others = [
    { ref: 'refs/heads/main2' },
    { ref: 'refs/tags/main' },
    { after: '0'.repeat(40) },
    { repository: { full_name: 'eve/site' } },
  ]
  for (const other of others) expect(passedBy(sensor, { header, body: { ...body, ...other } })).toEqual([])
  expect(JSON.stringify([created, at.scene.lines, await at.inClone('apps', 'log', '-p', '-1')])).not.toContain(token)

  // A webhook with a token that nobody has any more is replaced by the same command, and then left as it is.
  const hooks = async (): Promise<string[]> => {
    const found = (await at.ann.api('GET', '/repos/ann/site/hooks')) as { id: number }[]
    return found.map(({ id }) => String(id))
  }
  const kept = await hooks()
  if (secret === undefined) throw new Error('there is no Secret')
  // As a forge leaves it that refuses the webhook of a new Secret.
  at.scene.kube.objects.set('secrets/site-test-webhook', { ...secret, metadata: { ...secret.metadata, annotations: owner } })
  expect((await at.windlass(line)).stderr).toBe(`Webhook created: ${url}\n`)
  const replaced = await hooks()
  expect((await at.windlass(line)).stderr).toBe(`Webhook there already: ${url}\n`)
  expect([kept.length, replaced.length, await hooks()]).toEqual([1, 1, replaced])
  expect(replaced).not.toEqual(kept)

  // Who may not manage webhooks at the forge commits all the same, and is told.
  const other = await at.windlass(`gitops pipeline create prod by-ben ${site} --workflow-template build`, at.keys.ben)
  expect(other).toMatchObject({ code: 0, stdout: 'delivery-pipeline/by-ben created\n' })
  expect(other.stderr).toContain(`The webhook for ${source.url}/webhooks/${NAMESPACE}/by-ben was not created: `)
  for (const [words, code, why, key] of [
    [
      `site-test ${site} --branch dev --image node:24 --script make`,
      1,
      'has the file site-test.sensor.yaml with something else',
      at.keys.ada,
    ],
    [`x ${site} --workflow-template build --event tag`, 2, 'The event "tag" does not exist.', at.keys.ada],
    [`x ${site}`, 2, 'The script is missing.', at.keys.ada],
    [`x --repo https://far.example.com/a/b.git --workflow-template build`, 3, 'no Git integration', at.keys.ada],
    [`x ${site} --workflow-template build`, 4, 'change-gitops', at.keys.vic],
  ] as const)
    expect([words, await at.windlass(`gitops pipeline create prod ${words}`, key)]).toEqual([
      words,
      expect.objectContaining({ code, stderr: expect.stringContaining(why) }),
    ])

  // Without a commit no Secret is left, and none is made for a commit that cannot be.
  const apps = `${at.url}/ann/apps.git`
  const create = (name: string, by?: string): Promise<Answer> =>
    at.call('POST', '/delivery-pipelines', {
      ...(by !== undefined && { by }),
      body: { name, repository: apps, workflowTemplate: 'build' },
    })
  const made: string[] = []
  const { objects } = at.scene.kube
  const set = objects.set.bind(objects)
  objects.set = (key, object) => {
    made.push(key)
    return set(key, object)
  }
  onTestFinished(() => void Reflect.deleteProperty(objects, 'set'))
  expect(await create('no-push', at.keys.rea)).toMatchObject({ status: 403, body: { right: 'git-push' } })
  await at.write('apps', 'prod/taken.yaml', 'apiVersion: argoproj.io/v1alpha1\nkind: Sensor\nmetadata: { name: taken }\n')
  expect(await create('taken')).toMatchObject({ status: 409, body: { detail: expect.stringContaining('has the Sensor taken') } })
  await at.write('apps', 'prod/large.sensor.yaml', `kind: Sensor\n# ${'x'.repeat(70_000)}\n`)
  expect(await at.call('GET', '/delivery-pipelines')).toMatchObject({
    body: { unread: ['The file prod/large.sensor.yaml of the Git source "apps" was not read: it has more than 64 KiB.'] },
  })
  expect(await create('large')).toMatchObject({ status: 409, body: { detail: expect.stringContaining('with something else') } })
  expect(made).toEqual([])
  at.beforePush = async () => at.write('apps', 'prod/late.sensor.yaml', 'a: 1\n')
  expect(await create('late')).toMatchObject({ status: 409, body: { detail: expect.stringContaining('with something else') } })
  expect(made).toEqual(['secrets/late-webhook'])
  expect([...objects.keys()].filter((key) => key.endsWith('-webhook'))).toEqual([
    'secrets/site-test-webhook',
    'secrets/by-ben-webhook',
  ])
})

test('an application that is in no Git source is not edited, and the reason is named (O039)', async () => {
  const live = (name: string, more: object): void =>
    void at.scene.kube.objects.set(`applications/${name}`, {
      apiVersion: 'argoproj.io/v1alpha1',
      kind: 'Application',
      metadata: { name, namespace: NAMESPACE, ...more },
      spec: { project: 'default' },
    })
  live('bare', {})
  live('child', { annotations: { 'argocd.argoproj.io/tracking-id': 'parent:argoproj.io/Application:x/child' } })
  live('member', { ownerReferences: [{ kind: 'ApplicationSet', name: 'teams', apiVersion: 'argoproj.io/v1alpha1', uid: '1' }] })
  for (const [name, why] of [
    ['bare', 'created in the cluster, not from Git'],
    ['child', 'for the application "parent"'],
    ['member', 'The set of applications "teams"'],
  ] as const)
    expect([name, await at.windlass(`gitops app edit prod ${name} --revision r2 --yes`)]).toEqual([
      name,
      expect.objectContaining({ code: 1, stderr: expect.stringContaining(why) }),
    ])
  const taken = await at.windlass('gitops app create prod bare --repo https://git.example.com/a/b.git --path x')
  expect(taken).toMatchObject({ code: 1, stderr: expect.stringContaining('which no Git source has') })
  expect((await at.windlass('gitops git-source delete prod apps')).code).toBe(0)
})

test('a restricted Git source is an object with its destinations, and its type never changes (O037)', async () => {
  const options = `--restricted --source-namespace cf-shop --destination in-cluster/shop-* --git-src-repo ${at.url}/ann/apps.git`
  expect((await at.windlass(`gitops git-source create prod shop ${options}`)).stdout).toBe('git-source/shop created\n')
  const text = await at.read('resources/runtimes/prod/shop.yaml')
  expect(text).toContain('kind: RestrictedGitSource\n')
  expect(text).toContain('  destinations:\n    - name: in-cluster\n      namespace: shop-*\n')
  const list = await at.call('GET', '/git-sources')
  expect(list.body.items).toMatchObject([
    { name: 'shop', type: 'restricted', sourceNamespace: 'cf-shop', file: 'resources/runtimes/prod/shop.yaml' },
  ])
  const standard = { type: 'standard', repository: `${at.url}/ann/apps.git` }
  expect(await at.call('PUT', '/git-sources/shop', { body: standard })).toMatchObject({
    status: 400,
    body: { detail: expect.stringContaining('never changes') },
  })
  const wrong = await at.windlass(`gitops git-source create prod other ${options.replace('cf-shop', 'shop')}`)
  expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('must begin with cf-') })
  expect((await at.windlass(`gitops git-source edit prod shop --destination *:x`)).code).toBe(2)
  expect((await at.windlass('gitops git-source edit prod shop --destination https://10.0.0.1:6443/shop')).code).toBe(0)
  expect(await at.read('resources/runtimes/prod/shop.yaml')).toContain(
    '    - server: https://10.0.0.1:6443\n      namespace: shop\n',
  )
})

test('an application of a restricted Git source has its namespace and project, and keeps its limits (O037, O038)', async () => {
  const options = `--git-source shop --repo ${at.url}/ann/apps.git --path x --dest-server https://10.0.0.1:6443`
  await at.windlass(`gitops git-source create prod more --git-src-repo ${at.url}/ann/apps.git`)
  const several = await at.windlass(`gitops app create prod inner ${options.replace('--git-source shop ', '')}`)
  expect(several).toMatchObject({ code: 2, stderr: expect.stringContaining('several Git sources: more, shop') })
  const made = await at.windlass(`gitops app create prod inner ${options} --dest-namespace shop --dry-run`)
  expect(made).toMatchObject({ code: 0, stdout: expect.stringMatching(/namespace: cf-shop\n[\s\S]*project: shop\n/) })
  const refused = await at.windlass(`gitops app create prod inner ${options} --dest-namespace other --project default`)
  expect(refused).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/have the project shop[\s\S]*It allows https:\/\/10.0.0.1:6443\/shop/),
  })
  expect((await at.windlass('gitops git-source delete prod more')).code).toBe(0)
})

test('a Git source is refused if its repository, branch or folder is not there, or its name is in use (O035, O036)', async () => {
  const head = await at.inClone('gitops', 'rev-parse', 'HEAD')
  const create = (change: object, by = at.keys.ada): Promise<Answer> =>
    at.call('POST', '/git-sources', {
      by,
      body: { name: 'new', type: 'standard', repository: `${at.url}/ann/apps.git`, ...change },
    })
  for (const name of ['in-cluster', 'prod', 'prod-isc', 'shop'])
    expect(await create({ name })).toMatchObject({ status: 409, body: { code: 'conflict' } })
  for (const repository of [`${at.url}/ann/absent.git`, `${at.url}/ann/apps.git?ref=absent`, `${at.url}/ann/apps.git/absent`])
    expect(await create({ repository })).toMatchObject({ status: 404, body: { code: 'not-found' } })
  for (const repository of ['git@github.com:acme/apps.git', 'http://other.example.com/acme/apps.git', 'https://x:y@h/a/b.git'])
    expect(await create({ repository })).toMatchObject({ status: 400, body: { detail: expect.stringContaining('Invalid URL') } })
  expect(await create({ unknown: 1 })).toMatchObject({ status: 400 })
  expect(await create({}, at.keys.vic)).toMatchObject({ status: 403, body: { right: 'change-gitops' } })
  expect(await create({}, at.keys.rea)).toMatchObject({ status: 403, body: { right: 'git-push' } })
  expect(await at.inClone('gitops', 'rev-parse', 'HEAD')).toBe(head)
})

test('a repository of a host without an integration is written unchecked, and the answer says so (O035)', async () => {
  const made = await at.windlass('gitops git-source create prod far --git-src-repo https://far.example.com/acme/apps.git')
  expect(made).toMatchObject({ code: 0, stdout: 'git-source/far created\n', stderr: expect.stringContaining('was not checked') })
  expect((await at.windlass('gitops git-source delete prod far')).code).toBe(0)
})

test('files of people stay, and one in the place of a Git source is not overwritten', async () => {
  await at.write('gitops', 'resources/runtimes/prod/own.yaml', 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: own}\n')
  await at.write('gitops', 'resources/runtimes/prod/broken.yaml', 'a: [')
  await at.write('gitops', 'resources/runtimes/prod/notes/x.yaml', 'a: 1\n')
  const standard = { type: 'standard', repository: `${at.url}/ann/apps.git` }
  expect((await at.call('GET', '/git-sources')).body.items).toMatchObject([{ name: 'shop' }])
  for (const [method, path, body] of [
    ['POST', '/git-sources', { ...standard, name: 'own' }],
    ['PUT', '/git-sources/own', standard],
    ['PUT', '/git-sources/broken', standard],
    ['DELETE', '/git-sources/own', undefined],
  ] as const)
    expect(await at.call(method, path, { ...(body !== undefined && { body }) })).toMatchObject({ status: 409 })
  expect(await at.call('PUT', '/shared-configuration', { body: {} })).toMatchObject({ body: { commit: { isNew: false } } })
  expect(await at.filesOf('gitops')).toEqual(
    expect.arrayContaining(['own.yaml', 'broken.yaml', 'notes/x.yaml'].map((name) => `resources/runtimes/prod/${name}`)),
  )
})

test('a change is made again on top of another commit of its file, and a name that is taken meanwhile is a conflict (O029, O035)', async () => {
  const repository = `${at.url}/ann/apps.git`
  const file = 'resources/runtimes/prod/race.yaml'
  expect((await at.windlass(`gitops git-source create prod race --git-src-repo ${repository}`)).code).toBe(0)
  const text = await at.read(file)
  let pushes = 0
  at.beforePush = async () => {
    pushes += 1
    if (pushes === 1) await at.write('gitops', file, `# of another person\n${text}`)
  }
  const edit = { type: 'standard', repository, include: 'only.yaml' }
  expect(await at.call('PUT', '/git-sources/race', { body: edit })).toMatchObject({
    status: 200,
    body: { commit: { isNew: true } },
  })
  expect(pushes).toBe(2)
  const both = await at.read(file)
  expect(both).toContain('# of another person\n')
  expect(both).toContain('include: "only.yaml"\n')
  // Another person takes the name between the check and the push.
  pushes = 0
  at.beforePush = async () => {
    pushes += 1
    await at.write('gitops', 'resources/runtimes/prod/taken.yaml', text.replace('name: race', 'name: taken').replace('"*"', 'x'))
  }
  const taken = await at.call('POST', '/git-sources', { body: { name: 'taken', type: 'standard', repository } })
  expect(taken).toMatchObject({ status: 409, body: { code: 'conflict', detail: expect.stringContaining('in use') } })
  expect(pushes).toBe(1)
  // Each try meets another commit.
  at.beforePush = async () => {
    pushes += 1
    await at.write('gitops', file, `# ${pushes}\n${text}`)
  }
  expect(await at.call('PUT', '/git-sources/race', { body: { ...edit, include: 'last.yaml' } })).toMatchObject({
    status: 409,
    body: { code: 'git-conflict', other: { author: 'ann', subject: `Write ${file}` } },
  })
  expect(at.scene.leftovers()).toEqual([])
})

test('Git sources that are created at once are all there (O035)', async () => {
  const names = Array.from({ length: 5 }, (_, number) => `many-${number}`)
  const made = await Promise.all(
    names.map((name) =>
      at.call('POST', '/git-sources', { body: { name, type: 'standard', repository: `${at.url}/ann/apps.git` } }),
    ),
  )
  expect(made.map(({ status }) => status)).toEqual(names.map(() => 200))
  expect((await at.call('GET', '/git-sources')).body.items).toEqual(
    expect.arrayContaining(names.map((name) => expect.objectContaining({ name }))),
  )
})

const Sealed = z.looseObject({
  metadata: z.looseObject({ name: z.string(), namespace: z.string() }),
  spec: z.looseObject({
    encryptedData: z.record(z.string(), z.string()),
    template: z.looseObject({ type: z.string() }),
  }),
})

test('the logins of a registry and of Jira are committed as sealed Secrets, which only the key of the controller opens (O082)', async () => {
  const { cert, key } = await selfSigned('127.0.0.1', ['-newkey', 'rsa:2048'])
  let certificate = cert
  // The controller, as far as it has a certificate for everyone.
  const controller = createServer((request, response) => {
    response.writeHead(request.url === '/v1/cert.pem' ? 200 : 404).end(certificate)
  })
  await once(controller.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void controller.close())
  const address = controller.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const folder = await mkdtemp(join(tmpdir(), 'windlass-sealed-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const passwordFile = join(folder, 'password')
  await writeFile(passwordFile, 'p:w "1"\n')
  const registry = `--domain registry.test:5000 --username ci --token-file ${passwordFile}`
  expect(await at.windlass(`gitops service add-registry prod ${registry}`)).toMatchObject({
    stderr: expect.stringContaining('sealedSecretsUrl'),
  })
  const sealing = { url: `http://127.0.0.1:${port}`, transport: nodeTransport({ proxy: proxyFrom({}) }) }
  await at.scene.restart({ sealing })
  onTestFinished(() => at.scene.restart())
  expect(await at.windlass(`gitops service add-registry prod ${registry}`, at.keys.ben)).toMatchObject({
    code: 4,
    stderr: expect.stringContaining('manage-gitops'),
  })
  expect(await at.windlass(`gitops service add-registry prod ${registry}`)).toMatchObject({
    code: 0,
    stdout: 'registry/default sealed\n',
  })
  expect(await at.inClone('gitops', 'log', '--format=%an: %s', '-1')).toBe(
    'ann: Add the registry integration default of the GitOps runtime prod\n',
  )
  const jira = `--url https://jira.test --username ci@test --token-file ${passwordFile} --project shop --project ADM --message Jira`
  expect((await at.windlass(`gitops service add-jira prod acme ${jira}`)).stdout).toBe('jira/acme sealed\n')
  const files = ['registry-default', 'jira-acme'].map((name) => `resources/runtimes/prod/integrations/${name}.yaml`)
  const texts = await Promise.all(files.map((file) => at.read(file)))
  expect(texts.join('\n')).not.toMatch(/p:w|ci@test/)
  const [ofRegistry, ofJira] = texts.map((text) => Sealed.parse(parse(text)))
  expect(ofRegistry).toMatchObject({
    apiVersion: 'bitnami.com/v1alpha1',
    kind: 'SealedSecret',
    metadata: { name: 'registry-integration-default', namespace: NAMESPACE },
    spec: { template: { type: 'kubernetes.io/dockerconfigjson' } },
  })
  const place = `${NAMESPACE}/registry-integration-default`
  const values = ofJira?.spec.encryptedData ?? {}
  const config = ofRegistry?.spec.encryptedData['.dockerconfigjson'] ?? ''
  const opened = await callSdk('http://127.0.0.1:1', '', [
    ['unseal', key, place, config],
    // A value opens for its own Secret only.
    ['unseal', key, `${NAMESPACE}/other`, config],
    ...['url', 'username', 'token', 'projects'].map((name) => [
      'unseal',
      key,
      `${NAMESPACE}/jira-integration-acme`,
      values[name] ?? '',
    ]),
  ])
  const login = { username: 'ci', password: 'p:w "1"', auth: btoa('ci:p:w "1"') }
  expect(JSON.parse(String(opened[0]?.result))).toEqual({ auths: { 'registry.test:5000': login } })
  expect(opened[1]?.error).toContain('no key could decrypt')
  expect(opened.slice(2).map(({ result }) => result)).toEqual(['https://jira.test', 'ci@test', 'p:w "1"', 'SHOP,ADM'])

  const listed = await at.windlass('gitops service list prod', at.keys.vic)
  expect(listed.stdout).toBe(
    'TYPE      NAME     PLACE               SECRET\njira      acme     https://jira.test   jira-integration-acme\nregistry  default  registry.test:5000  registry-integration-default\n',
  )
  // Git sources are apart from them.
  expect((await at.windlass('gitops git-source list prod -o json')).stdout).not.toContain('integration')
  certificate = 'no certificate'
  expect(await at.windlass(`gitops service add-registry prod ${registry}`)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('no certificate with an RSA key'),
  })
  expect((await at.windlass('gitops service remove prod jira acme')).stdout).toBe('jira/acme removed\n')
  expect(await at.filesOf('gitops')).not.toContain(files[1])
  expect(await at.windlass('gitops service remove prod jira acme')).toMatchObject({ code: 3 })
  expect(at.scene.lines.join('\n')).not.toContain('p:w')
})

test('the public Go SDK creates, shows and deletes a runtime, and changes Git integrations and Git sources (O086)', async () => {
  const { server, scene, keys, ann, url } = at
  const sdk = (...calls: string[][]): ReturnType<typeof callSdk> => callSdk(server.server.url, keys.ada, calls)
  const first = await sdk(
    ['createRuntime', 'brief', 'argocd', 'https://brief.example.com'],
    ['runtime', 'brief'],
    ['reportErrors', 'brief', 'no route to the forge'],
    ['runtime', 'brief'],
    ['deleteRuntime', 'brief'],
    ['runtime', 'brief'],
  )
  expect(first.map(({ error = '' }) => error)).toEqual(['', '', '', '', '', "runtime 'brief' does not exist"])
  const [created, shown, reported, failed, deleted] = first
  expect(created?.result).toEqual({ name: 'brief', newAccessToken: expect.stringMatching(/^[0-9a-f]{24}\./) })
  expect(shown?.result).toMatchObject({
    metadata: { name: 'brief', namespace: 'argocd' },
    ingressHost: 'https://brief.example.com',
    installationStatus: 'IN_PROGRESS',
    syncStatus: 'UNKNOWN',
  })
  expect([reported, failed, deleted]).toMatchObject([{ result: 1 }, { result: { installationStatus: 'FAILED' } }, { result: 1 }])

  // The app-proxy is found by the address that the runtime has.
  const repository = `${url}/ann/apps.git`
  const calls = [
    ['createRuntime', 'prod', NAMESPACE, scene.proxy.url, 'recover'],
    ['versionInfo', 'prod'],
    ['addIntegration', 'prod', 'second', 'GITEA', `${url}/api/v1`],
    ['editIntegration', 'prod', 'second', ''],
    ['register', 'prod', 'second', ann.token],
    ['integration', 'prod', 'second'],
    ['deregister', 'prod', 'second'],
    ['integrations', 'prod'],
    ['removeIntegration', 'prod', 'second'],
    ['integration', 'prod', 'second'],
    ['createGitSource', 'prod', 'by-sdk', repository, 'team=shop'],
    ['editGitSource', 'prod', 'by-sdk', `${repository}/prod?ref=main`, '*.yaml'],
  ]
  const answers = await sdk(...calls)
  expect(answers.map(({ error }, position) => error && `${calls[position]?.[0]}: ${error}`).filter(Boolean)).toEqual([])
  const [, version, added, edited, registered, one, deregistered, all, , absent] = answers.map(({ result }) => result)
  expect(version).toEqual({ version: '1.2.3', platformHost: server.server.url, platformVersion: '1.2.3' })
  // The SDK has no word for Gitea.
  const second = { name: 'second', provider: 'GITHUB', apiUrl: `${url}/api/v1` }
  expect(added).toMatchObject({ ...second, sharingPolicy: 'ALL_USERS_IN_ACCOUNT', registeredUsers: [] })
  expect(edited).toMatchObject({ ...second, sharingPolicy: 'ACCOUNT_ADMINS' })
  expect([registered, one]).toMatchObject([
    { ...second, registeredUsers: [expect.any(String)] },
    { ...second, registeredUsers: [expect.any(String)] },
  ])
  expect(deregistered).toMatchObject({ ...second, registeredUsers: [] })
  expect(all).toMatchObject([
    { name: 'default', users: expect.arrayContaining([expect.objectContaining({ userId: expect.any(String) })]) },
    { name: 'second' },
  ])
  expect(absent).toBeNull()
  const file = 'resources/runtimes/prod/by-sdk.yaml'
  expect(await at.read(file)).toMatch(/team: shop[\s\S]*path: "prod"\n\s+targetRevision: main\n[\s\S]*include: "\*\.yaml"/)
  expect(await at.inClone('gitops', 'log', '--format=%an: %s', '-2')).toBe(
    'ann: Change the Git source by-sdk of the GitOps runtime prod\nann: Create the Git source by-sdk of the GitOps runtime prod\n',
  )

  // Who may not, gets the status of the route. A wrong place is told, and nothing is written.
  const [denied, deniedDelete] = await callSdk(server.server.url, keys.vic, [
    ['createGitSource', 'prod', 'denied', repository],
    ['deleteRuntime', 'prod'],
  ])
  expect([denied?.error, deniedDelete?.error]).toEqual([expect.stringContaining('403'), expect.stringContaining('403')])
  const refused = await sdk(
    ['deleteGitSource', 'prod', 'by-sdk'],
    ['deleteGitSource', 'prod', 'by-sdk'],
    ['removeCluster', 'prod', 'https://none.test'],
  )
  expect(refused.map(({ error = '' }) => error.trim())).toEqual([
    '',
    expect.stringContaining('The Git source "by-sdk" does not exist.'),
    expect.stringContaining('does not manage a cluster at https://none.test'),
  ])
  const rest = await sdk(
    ['runtimes'],
    ['me'],
    ['clusters', 'prod'],
    ['gitSources', 'prod'],
    ['components', 'prod'],
    ['limits'],
    ['setSharedConfigRepo', `${url}/ann/other.git`],
    ['updateCsdpSettings', 'GITEA', `${url}/api/v1`, `${url}/ann/gitops.git`],
    ['removeFromIscRepo', 'prod'],
    ['removeFromIscRepo', 'prod'],
  )
  expect(rest.map(({ error }) => error)).toEqual(rest.map(() => undefined))
  expect(rest[0]?.result).toMatchObject([{ metadata: { name: 'prod' }, ingressHost: scene.proxy.url }])
  expect(rest[1]?.result).toMatchObject({ name: 'ada', activeAccount: { sharedConfigRepo: `${url}/ann/gitops.git` } })
  expect(rest[6]?.result).toBe(`${url}/ann/gitops.git`)
  expect(rest[8]?.result).toBeGreaterThan(0)
  expect(rest[9]?.result ?? 0).toBe(0)
  expect((await at.filesOf('gitops')).filter((path) => path.startsWith('runtimes/prod/'))).toEqual([])
  // The audit log has each call as that of its route.
  const base = '/app-proxy/api/git-sources'
  const records = async (): Promise<string[]> => {
    const { items } = await server.admin.audit.list({ query: { order: 'newest', limit: 4, q: base } })
    return items.map(({ action, target, result }) => `${action} ${target} ${result}`)
  }
  await expect
    .poll(records)
    .toEqual([
      `DELETE ${base}/{name} prod${base}/by-sdk failed`,
      `DELETE ${base}/{name} prod${base}/by-sdk done`,
      `POST ${base} prod${base} denied`,
      `PUT ${base}/{name} prod${base}/by-sdk done`,
    ])
})
