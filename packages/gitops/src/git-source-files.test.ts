import { NewGitSource } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { editGitSource, gitSourceFile, isSameGitSource, readGitSource, toGitSource } from './git-source-files.ts'

const standard = NewGitSource.parse({
  name: 'apps',
  type: 'standard',
  repository: 'https://git.example.com/acme/apps.git/prod?ref=main',
  exclude: 'drafts/*',
  labels: { team: 'shop' },
})
const restricted = NewGitSource.parse({
  name: 'shop',
  type: 'restricted',
  repository: 'https://git.example.com/shop/apps',
  sourceNamespace: 'cf-shop',
  destinations: [{ name: 'in-cluster', namespace: 'shop-*' }],
})

test('a standard Git source is an application with its label (O035)', () => {
  expect(gitSourceFile(standard, 'gitops-prod')).toBe(`apiVersion: argoproj.io/v1alpha1
kind: Application
metadata:
  name: apps
  namespace: gitops-prod
  labels:
    team: shop
    codefresh.io/entity: git-source
    codefresh.io/internal: "false"
spec:
  project: default
  source:
    repoURL: https://git.example.com/acme/apps.git
    path: prod
    targetRevision: main
    directory:
      include: "*"
      exclude: drafts/*
      recurse: true
  destination:
    namespace: gitops-prod
    server: https://kubernetes.default.svc
  syncPolicy:
    automated:
      allowEmpty: true
      prune: true
      selfHeal: true
    syncOptions:
      - allowEmpty=true
`)
})

test('a restricted Git source is an object of its own kind (O037)', () => {
  expect(gitSourceFile(restricted, 'gitops-prod')).toBe(`apiVersion: codefresh.io/v1beta1
kind: RestrictedGitSource
metadata:
  name: shop
  namespace: gitops-prod
  labels:
    codefresh.io/entity: git-source
    codefresh.io/internal: "false"
spec:
  sourceNamespace: cf-shop
  source:
    repoURL: https://git.example.com/shop/apps.git
    path: "."
    targetRevision: HEAD
    directory:
      include: "*"
      recurse: true
  destinations:
    - name: in-cluster
      namespace: shop-*
  sourceRepos:
    - "*"
`)
})

test('what was written is read', () => {
  for (const source of [standard, restricted]) {
    const text = gitSourceFile(source, 'gitops-prod')
    const read = readGitSource(text)
    expect(read).toMatchObject(toGitSource(source))
    expect(read !== undefined && isSameGitSource(read, toGitSource(source))).toBe(true)
    expect(editGitSource(text, source)).toBe(text)
  }
})

test('an edit keeps comments, unknown fields and the labels of the runtime', () => {
  const text = gitSourceFile(standard, 'gitops-prod').replace(
    '  project: default\n',
    '  project: default # ask the platform team\n  revisionHistoryLimit: 3\n',
  )
  const { exclude: _, ...rest } = standard
  const wanted = NewGitSource.parse({ ...rest, include: '*.yaml', labels: { owner: 'ann' }, project: 'shop' })
  const edited = editGitSource(text, wanted)
  expect(edited).toContain('  project: shop # ask the platform team\n  revisionHistoryLimit: 3\n')
  expect(edited).toContain('include: "*.yaml"')
  expect(edited).not.toContain('exclude')
  expect(edited).toContain('    codefresh.io/entity: git-source\n')
  expect(readGitSource(edited ?? '')).toMatchObject({ labels: { owner: 'ann' }, project: 'shop' })
  // Only what changes differs.
  const before = new Set(text.split('\n'))
  expect((edited ?? '').split('\n').filter((line) => !before.has(line)).length).toBe(3)
})

test('files that are something else are neither read as Git sources nor edited', () => {
  const other = gitSourceFile(standard, 'x').replace('git-source', 'component')
  const text = gitSourceFile(standard, 'x')
  for (const content of [other, '', 'a: [', `${text}---\n${text}`, text.replace('argoproj.io', 'example.com'), '{}']) {
    expect(readGitSource(content)).toBeUndefined()
    expect(editGitSource(content, standard)).toBeUndefined()
  }
  expect(editGitSource(text, { ...standard, name: 'other' })).toBeUndefined()
  expect(editGitSource(text, { ...restricted, name: 'apps' })).toBeUndefined()
})

test('a Git source of the original is read, also one of its earlier group', () => {
  const text = gitSourceFile(restricted, 'x').replace('codefresh.io/v1beta1', 'csdp.codefresh.io/v1')
  expect(readGitSource(text)).toMatchObject({ name: 'shop', type: 'restricted', sourceNamespace: 'cf-shop' })
  const bare =
    'apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata:\n  name: a\n  labels: {codefresh.io/entity: git-source}\n'
  expect(readGitSource(`${bare}spec:\n  source: {repoURL: 'git@host:a/b.git', path: /x/, targetRevision: v1}\n`)).toMatchObject({
    repository: 'git@host:a/b.git/x?ref=v1',
    type: 'standard',
  })
})

test.each([
  ['git@git.example.com:acme/apps.git', 'Invalid URL'],
  ['ssh://git@git.example.com/acme/apps.git', 'Invalid URL'],
  ['https://ann:secret@git.example.com/acme/apps.git', 'user name'],
  ['https://git.example.com/acme/../apps.git', '..'],
  ['https://git.example.com/acme/apps.git?token=x', 'ref'],
  ['https://git.example.com/acme/apps.git?ref=--upload-pack', 'branch'],
  ['https://git.example.com', 'path of a repository'],
  ['file:///etc', 'Invalid URL'],
])('the repository %s is refused (O036)', (repository, why) => {
  const { error } = NewGitSource.safeParse({ name: 'apps', type: 'standard', repository })
  expect(error?.issues).toMatchObject([{ path: ['repository'], message: expect.stringContaining(why) }])
})

test.each([
  [{ sourceNamespace: 'shop' }, 'cf-'],
  [{ destinations: [] }, ''],
  [{ destinations: [{ namespace: 'x' }] }, 'either name or server'],
  [{ destinations: [{ name: 'a', server: 'https://x', namespace: 'x' }] }, 'either name or server'],
  [{ name: 'Apps' }, 'lower-case'],
  [{ project: 'x' }, ''],
])('a restricted Git source with %j is refused (O037)', (change, why) => {
  const { error } = NewGitSource.safeParse({ ...restricted, ...change })
  expect(error?.issues[0]?.message).toContain(why)
})
