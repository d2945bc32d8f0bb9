/** Reports of images from a real registry to a real server. */
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { basicAuth } from '@windlass/protocol'
import { expect, onTestFinished, test } from 'vitest'
import { LAYER_BYTES, pushImage, pushIndex } from '../../../../e2e/support/pushed-image.ts'
import { startRegistry } from '../../../../e2e/support/registry.ts'
import { argoApplication, event, openReporter } from '../../../server/test/support/fakes/application-reporter.ts'
import { openHttpScene } from '../../../server/test/support/http-scene.ts'
import { windlass } from '../windlass.ts'

const COMMIT = '0123456789abcdef0123456789abcdef01234567'
const LOGIN = { user: 'mira', password: 'p:w' }

test('an image is read in its registry, reported once, and shown with its commit at its application', async () => {
  await using scene = await openHttpScene()
  await using registry = await startRegistry({ auth: LOGIN })
  const folder = await mkdtemp(join(tmpdir(), 'windlass-images-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const run = (...words: readonly string[]) => windlass(scene, ['gitops', 'image', ...words])
  const authorization = basicAuth(LOGIN.user, LOGIN.password)
  const labels = { 'org.opencontainers.image.source': 'https://git.test/acme/shop', 'org.opencontainers.image.revision': COMMIT }
  const one = await pushImage(registry, { name: 'acme/shop', tag: 'v1', labels, authorization })
  const many = await pushIndex(registry, { name: 'acme/shop', tag: 'v2', authorization }, ['arm64', 'amd64'])
  const name = `${registry.domain}/acme/shop`

  // Without the login, and for what is not there, nothing is reported.
  expect(await run('report', `${name}:v1`)).toMatchObject({ code: 1, text: expect.stringContaining('--registry-config') })
  const helped = join(folder, 'helped.json')
  await writeFile(helped, JSON.stringify({ auths: { [registry.domain]: {} }, credsStore: 'desktop' }))
  for (const [option, file, code, text] of [
    ['--registry-config', join(folder, 'missing.json'), 3, `${join(folder, 'missing.json')} does not exist`],
    ['--registry-config', helped, 1, `${helped} has no login for ${registry.domain}. Logins in a credential helper`],
    // An optional Secret that is not there.
    ['--registry-integration', folder, 1, 'Name a file with its login'],
  ] as const)
    expect(await run('report', `${name}:v1`, option, file)).toMatchObject({ code, text: expect.stringContaining(text) })
  const logins = join(folder, 'config.json')
  await writeFile(logins, JSON.stringify({ auths: { [registry.domain]: { auth: btoa(`${LOGIN.user}:${LOGIN.password}`) } } }))
  const withLogin = ['--registry-config', logins, '--workflow', 'shop #12']
  expect(await run('report', `${name}:v3`, ...withLogin)).toMatchObject({
    code: 3,
    text: expect.stringContaining('Push it first'),
  })
  expect(await run('report', 'UPPER/case', ...withLogin)).toMatchObject({ code: 2 })
  expect(await run('report', `${name}:v1`, ...withLogin, '--issue', 'SHOP-7', '--issue', 'foo')).toMatchObject({
    code: 2,
    text: expect.stringContaining('"foo" is not the key of an issue.'),
  })
  expect((await run('list')).text).toBe('No reports of images found.\n')

  const reference = join(folder, 'reference')
  const line = ['report', `${name}:v1`, ...withLogin, '--git-branch', 'main', '--issue', 'SHOP-7', '--reference-file', reference]
  expect(await run(...line)).toEqual({ code: 0, text: `image/${name}@${one.digest} reported\n` })
  expect(await readFile(reference, 'utf8')).toBe(`${name}@${one.digest}\n`)
  // A second time it is the same report.
  await run(...line)
  await run('report', `${name}:v2`, '--registry-integration', folder, '--workflow', 'shop #12')
  const { items } = await scene.admin.imageReports.list()
  expect(items).toEqual([
    expect.objectContaining({ image: name, digest: many.digest, tags: ['v2'], platforms: ['linux/arm64', 'linux/amd64'] }),
    expect.objectContaining({
      image: name,
      digest: one.digest,
      tags: ['v1'],
      platforms: ['linux/amd64'],
      sizeBytes: LAYER_BYTES,
      builtAt: Date.parse('2027-01-10T08:00:00Z'),
      git: { repo: 'https://git.test/acme/shop', commit: COMMIT, branch: 'main' },
      issues: [{ key: 'SHOP-7' }],
      workflow: { name: 'shop #12' },
    }),
  ])

  // The Secret of an integration may limit what callers get to read.
  const limits = join(folder, 'limits')
  await mkdir(limits)
  await writeFile(join(limits, 'projects'), 'SHOP, ADM-\n')
  await writeFile(join(limits, 'repositories'), 'acme/shop')
  const limited = [`${name}@${one.digest}`, '--workflow', 'shop #12', '--integration', limits]
  for (const [words, code, text] of [
    [['jira-info', '--message', 'SHOP-7: pay by PAY-7'], 0, 'PAY-7: left out, because the Jira integration'],
    [['jira-info', '--message', 'pay-7', '--project', 'PAY'], 4, 'does not allow the project "PAY"'],
    [['git-info', '--git-branch', 'main', '--git-repo', 'acme/pay'], 4, 'does not allow the repository "acme/pay"'],
    [['git-info', '--git-branch', 'main', '--git-repo', 'https://git.test/Acme/shop.git'], 0, 'No forge is configured'],
  ] as const)
    expect(await run(...words, ...limited)).toMatchObject({ code, text: expect.stringContaining(text) })

  // Another source has its own report of the same image.
  const { token } = await scene.admin.gitopsRuntimes.createToken('prod')
  const tokenFile = join(folder, 'token')
  await writeFile(tokenFile, token)
  const jira = [
    'jira-info',
    `${name}@${one.digest}`,
    '--message',
    'feature/shop-8',
    '--project',
    'SHOP',
    '--workflow',
    'shop #12',
  ]
  expect((await run(...jira, '--server-url', scene.server.url, '--token-file', tokenFile)).text).toContain(
    'only the keys of the issues are reported',
  )
  expect((await run('get', `${name}:v1`)).text).toMatch(new RegExp(`Commit: +${COMMIT}\n`))
  expect((await run('list', '--image', `${name}@${one.digest}`)).text.match(/shop #12/g)).toHaveLength(2)
  expect((await run('list', '--commit', COMMIT.slice(0, 10), '-o', 'json')).text).toContain('"SHOP-7"')
  expect(await run('list', '--image', 'a b')).toMatchObject({
    code: 2,
    text: expect.stringContaining('not the name of an image'),
  })
  // A viewer sees reports, and reports none.
  const { token: viewer } = await scene.admin.keys.create({ name: 'viewer', role: 'viewer' })
  const seen = scene.nobody.withToken(viewer)
  expect((await seen.imageReports.list()).items).toHaveLength(3)
  const input = { image: 'node', digest: one.digest, workflow: { name: 'x' } }
  await expect(seen.imageReports.report(input)).rejects.toMatchObject({ code: 'forbidden' })
  await expect(scene.nobody.withToken(token).imageReports.list()).rejects.toMatchObject({ code: 'forbidden' })
  expect(await scene.nobody.withToken(token).imageReports.report(input)).toMatchObject({
    image: 'docker.io/library/node',
    runtime: 'prod',
  })

  const images = [`${name}:v1`, `${name}:V1`, `node@${one.digest}`, 'not an image']
  await openReporter(scene, token)({ data: event(argoApplication('shop', { status: { summary: { images } } }), Date.now()) })
  const ofApplication = await scene.admin.applications.images('prod/argocd/shop')
  expect(ofApplication.items.map(({ image, report }) => [image, report?.tags ?? report?.runtime])).toEqual([
    [`${name}:v1`, ['v1']],
    [`${name}:V1`, undefined],
    [`node@${one.digest}`, 'prod'],
    ['not an image', undefined],
  ])
})
