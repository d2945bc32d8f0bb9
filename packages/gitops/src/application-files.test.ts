import type { ApplicationFields, GitSource } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { editToManifest, findApplication, mergeDocuments, replaceDocument } from './application-documents.ts'
import { newApplicationText, problemOfFile, problemsOfApplication, withFields } from './application-files.ts'

const namespace = 'runtime'
const apps: GitSource = { name: 'apps', type: 'standard', repository: 'https://git.example.com/acme/apps.git' }
const shop: GitSource = {
  name: 'shop',
  type: 'restricted',
  repository: 'https://git.example.com/acme/apps.git',
  sourceNamespace: 'cf-shop',
  destinations: [{ name: 'in-cluster', namespace: 'shop-*' }],
  sourceRepos: ['https://git.example.com/acme/*'],
}

const FILE = `# by Mira
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: shop, namespace: runtime}
spec:
  # the order is that of Mira
  project: default
  destination:
    namespace: shop
    server: https://kubernetes.default.svc
  source:
    repoURL: 'https://git.example.com/acme/shop.git'
    targetRevision: v1 # pinned
    path: deploy
    helm:
      parameters:
      - name: tag
        value: "1"
      - {name: mode, value: 'on'}
`

/** Returns the lines that a change removes and adds. */
function changesOf(before: string, after: string): string[] {
  const [old, now] = [before.split('\n'), after.split('\n')]
  return [
    ...old.filter((line) => !now.includes(line)).map((line) => `-${line}`),
    ...now.filter((line) => !old.includes(line)).map((line) => `+${line}`),
  ]
}

const edited = (fields: ApplicationFields): string[] => {
  const made = withFields(FILE, fields)
  return made.problems === undefined ? changesOf(FILE, made.text) : made.problems.map(({ message }) => message)
}

test('a new application has the fields of a form and the defaults of its Git source', () => {
  const fields = {
    repo: 'https://git.example.com/acme/shop.git',
    path: 'deploy',
    namespace: 'shop',
    sync: 'automatic',
    prune: true,
  } as const
  expect(newApplicationText('shop', fields, { namespace, project: 'default' })).toEqual({
    text: `apiVersion: argoproj.io/v1alpha1
kind: Application
metadata:
  name: shop
  namespace: runtime
spec:
  project: default
  source:
    repoURL: https://git.example.com/acme/shop.git
    path: deploy
    targetRevision: HEAD
  destination:
    server: https://kubernetes.default.svc
    namespace: shop
  syncPolicy:
    automated:
      prune: true
`,
  })
})

test('a form changes only its fields: comments, order and the style of the file stay', () => {
  expect(edited({ revision: 'v2' })).toEqual(['-    targetRevision: v1 # pinned', '+    targetRevision: v2 # pinned'])
  expect(edited({ stringParameters: { tag: '2' }, parameters: { mode: 'off' } })).toEqual([
    '-        value: "1"',
    "-      - {name: mode, value: 'on'}",
    '+        value: "2"',
    '+        forceString: true',
    '+      - {name: mode, value: "off"}',
  ])
  expect(edited({ parameters: { tag: null, more: 'x' } })).toEqual([
    '-      - name: tag',
    '-        value: "1"',
    '+      - name: more',
    '+        value: x',
  ])
  expect(edited({ chart: 'shop', revision: '1.0.0' })).toEqual([
    '-    targetRevision: v1 # pinned',
    '-    path: deploy',
    '+    targetRevision: 1.0.0 # pinned',
    '+    chart: shop',
  ])
  expect(edited({ cluster: 'eu' })).toEqual(['-    server: https://kubernetes.default.svc', '+    name: eu'])
  expect(edited({ sync: 'automatic', selfHeal: true, syncOptions: ['PruneLast=true'] })).toEqual([
    '+  syncPolicy:',
    '+    automated:',
    '+      selfHeal: true',
    '+    syncOptions:',
    '+    - PruneLast=true',
  ])
  expect(edited({ namespace: 'shop', project: 'default' })).toEqual([])
  expect(edited({ prune: true })).toEqual(['Only automatic syncs have prune, and people sync this application.'])
  expect(edited({ path: 'a', chart: 'b' })).toEqual(['path and chart exclude each other.'])
})

test('a manifest changes only the fields that differ', () => {
  const wanted = FILE.replaceAll(/#.*/g, '').replace('path: deploy', 'path: other').replace('    targetRevision: v1 \n', '')
  expect(changesOf(FILE, editToManifest(FILE, wanted) ?? '')).toEqual([
    '-    targetRevision: v1 # pinned',
    '-    path: deploy',
    '+    path: other',
  ])
})

test('what another person has changed stays, unless it is the same field', () => {
  const own = FILE.replace('v1 # pinned', 'v2 # pinned')
  const other = FILE.replace('path: deploy', 'path: other').replace('# by Mira', '# by Ben')
  expect(mergeDocuments({ base: FILE, own, other })).toBe(other.replace('v1 # pinned', 'v2 # pinned'))
  expect(mergeDocuments({ base: FILE, own, other: FILE.replace('v1 #', 'v3 #') })).toBeUndefined()
  // The own change is there already.
  expect(mergeDocuments({ base: FILE, own, other: own })).toBe(own)
})

test('the other documents of a file stay byte for byte', () => {
  const [before, after] = ['a:   1 # odd\n---\n', '---\nb: [ ]\n']
  const found = findApplication(`${before.slice(0, -4)}---\n${FILE}${after}`, 'shop')
  const file = `${before}${FILE}${after}`
  expect(found).toMatchObject({ namespace: 'runtime' })
  const document = findApplication(file, 'shop')
  if (document === undefined) throw new Error('the application is not found')
  expect(document.text).toBe(`---\n${FILE}`)
  expect(replaceDocument(file, document, FILE.replace('deploy', 'other'))).toBe(file.replace('deploy', 'other'))
  expect(findApplication(file, 'sho')).toBeUndefined()
  expect(findApplication(`${FILE}\n---\na: [`, 'shop')).toBeUndefined()
})

test('a manifest that Argo CD would refuse or ignore is refused with place, reason and what to do', () => {
  const problems = (text: string): unknown[] =>
    problemsOfApplication(text, 'shop', { source: apps, place: { runtime: 'prod', namespace } }).map(
      ({ path, line, message, hint }) => [`${path ?? ''}:${line ?? ''}`, message, hint],
    )
  expect(problems(FILE)).toEqual([])
  expect(problems(FILE.replace('path: deploy', 'pth: deploy'))).toEqual([
    ['spec.source.pth:14', 'An Application has no field spec.source.pth.', 'Did you mean path?'],
  ])
  expect(problems(FILE.replace('"1"', 'yes'))).toEqual([
    [
      'spec.source.helm.parameters.0.value:18',
      'The field spec.source.helm.parameters.0.value must be a text.',
      'Write it with quotes: "true".',
    ],
  ])
  expect(problems(`${FILE}status: {}\n`)).toEqual([
    ['status:20', 'Argo CD writes the field status.', 'Remove it: it does not belong in Git.'],
  ])
  expect(problems(FILE.replace('name: shop', 'name: other'))).toMatchObject([
    ['metadata.name:', expect.stringContaining('other, not of shop'), expect.anything()],
  ])
  expect(problems(FILE.replace('namespace: runtime', 'namespace: elsewhere'))).toMatchObject([
    ['metadata.namespace:', expect.stringContaining('runtime'), expect.anything()],
  ])
  expect(problems(FILE.replace('https://git', 'https://ann:secret@git'))).toMatchObject([
    ['spec.source.repoURL:12', expect.stringContaining('must not have a password'), undefined],
  ])
  expect(problems(FILE.replace('    path: deploy\n', ''))).toMatchObject([
    ['spec.source:12', 'The source has neither path nor chart.', expect.anything()],
  ])
  expect(problems(FILE.replace('    server:', '    name: eu\n    server:'))).toMatchObject([
    ['spec.destination:9', 'The destination has both server and name.', expect.anything()],
  ])
  expect(problems(FILE.replace('kind: Application', 'kind: AppProject'))).toMatchObject([
    ['kind:3', 'must be Application', undefined],
  ])
  expect(problems('a: [')).toMatchObject([[':1', expect.stringContaining('is not valid YAML'), undefined]])
  expect(problems(`${FILE}---\na: 1\n`)).toMatchObject([
    [expect.anything(), expect.stringContaining('multiple documents'), undefined],
  ])
  expect(problems('a: &a [1]\nb: [*c]\n')).toHaveLength(1)
})

test('an application of a hosted runtime names a managed cluster', () => {
  const problems = (text: string): unknown[] =>
    problemsOfApplication(text, 'shop', { source: apps, place: { runtime: 'prod', namespace, isHosted: true } }).map(
      ({ path }) => path,
    )
  const own = FILE.replace('server: https://kubernetes.default.svc', 'name: in-cluster')
  expect([problems(FILE), problems(own)]).toEqual([['spec.destination'], ['spec.destination']])
  expect(problems(own.replace('in-cluster', 'eu'))).toEqual([])
})

test('the limits of a restricted Git source count for namespace, project, repository and destination', () => {
  const paths = (text: string): (string | undefined)[] =>
    problemsOfApplication(text, 'shop', { source: shop, place: { runtime: 'prod', namespace } }).map(({ path }) => path)
  expect(paths(FILE)).toEqual(['metadata.namespace', 'spec.project', 'spec.destination'])
  const fitting = FILE.replace('namespace: runtime', 'namespace: cf-shop')
    .replace('project: default', 'project: shop')
    .replace('namespace: shop\n', 'namespace: shop-eu\n')
  expect(paths(fitting)).toEqual([])
  expect(paths(fitting.replace('/acme/shop.git', '/other/shop.git'))).toEqual(['spec.source.repoURL'])
  expect(paths(fitting.replace('server: https://kubernetes.default.svc', 'name: eu'))).toEqual(['spec.destination'])
  expect(paths(fitting.replace('{name: shop, namespace: cf-shop}', '{name: shop}'))).toEqual(['metadata'])
})

test('a file is one that the Git source applies', () => {
  expect(problemOfFile('team/shop.yaml', apps)).toBeUndefined()
  expect(problemOfFile('shop.json', apps)).toBe('must end with .yaml or .yml')
  expect(problemOfFile('shop.yaml', { ...apps, include: 'prod/*' })).toContain('includes: prod/*')
  expect(problemOfFile('drafts/shop.yaml', { ...apps, exclude: 'drafts/**' })).toContain('excludes: drafts/**')
})
