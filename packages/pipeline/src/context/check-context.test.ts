import { describe, expect, test } from 'vitest'
import { growth, LINEAR } from '../../../plan/test/cpu-time.ts'
import { formatProblems, oneStep } from '../../test/documents.ts'
import { compile } from '../compile/compile.ts'
import { toCodefreshProblem } from '../formats/codefresh-problem.ts'
import type { AccountContext } from './account.ts'
import { isRegistryHost, registryKind } from './account.ts'

const hub = { name: 'hub', domain: 'docker.io', isDefault: true }
const ecr = { name: 'ecr', domain: '123456789012.dkr.ecr.eu-west-1.amazonaws.com', isDefault: false }
const full: AccountContext = {
  git: [{ name: 'github', isDefault: true }],
  registries: [hub],
  clusters: [{ name: 'prod' }],
  variables: new Set(['KNOWN']),
  autoPush: true,
  disablePush: false,
}

/** Returns `code: severity message` of every problem, with the Codefresh code numbers. */
function check(document: string, account: Partial<AccountContext> = {}): string[] {
  const { problems } = compile({ text: document, file: 'a.yml' }, { account: { ...full, ...account } })
  return problems.map((problem) => `${toCodefreshProblem(problem).code}: ${problem.severity} ${problem.message}`)
}

const clone = (...lines: string[]): string => oneStep('type: git-clone', 'repo: me/app', ...lines)
const push = (...lines: string[]): string => oneStep('type: push', 'candidate: x', ...lines)
const build = (...lines: string[]): string => oneStep('type: build', 'image_name: x', ...lines)
const deploy = (...lines: string[]): string => oneStep('type: deploy', 'kind: kubernetes', 'namespace: n', 'service: s', ...lines)

describe('git integrations (P175)', () => {
  const two = { git: [...(full.git ?? []), { name: 'gitlab', isDefault: false }] }

  test('100: the account has none', () => {
    expect(check(clone(), { git: [] })).toEqual(['100: error the account has no git integration to clone with'])
    expect(check(clone('git: github'), { git: [] })).toEqual(['100: error the account has no git integration to clone with'])
  })

  test('a repository URL needs none, because it may be public', () => {
    for (const repo of ['https://example.com/a/b', 'git@example.com:a/b', "'${{URL}}'"])
      expect(check(oneStep('type: git-clone', `repo: ${repo}`), { git: [] })).toEqual([])
    expect(check(oneStep('type: git-clone', 'repo: https://example.com/a/b'), two)).toEqual([])
  })

  test('101: undefined variable', () => {
    expect(check(clone("git: '${{NOPE}}'"))).toEqual(['101: warning "git" refers to the undefined variable "NOPE"'])
    expect(check(clone("git: '${{KNOWN}}'"))).toEqual([])
  })

  test('102: unknown name, except CF-default', () => {
    expect(check(clone('git: githab'))).toEqual(['102: error git integration "githab" does not exist. Did you mean "github"?'])
    expect(check(clone('git: CF-default'))).toEqual([])
    expect(check(clone('git: github'))).toEqual([])
  })

  test('103: several exist and none is named, unless the warning is suppressed', () => {
    expect(check(clone(), two)).toEqual(['103: warning 2 git integrations exist and "git" is not set; "github" is used'])
    expect(check(clone(), { ...two, quietDefaults: true })).toEqual([])
    expect(check(clone())).toEqual([])
  })
})

describe('registries of push steps (P175)', () => {
  test('200: the account has none', () => {
    expect(check(push(), { registries: [] })).toEqual(['200: error the account has no registry integration to push to'])
    expect(check(push('registry: hub'), { registries: [] })).toEqual([
      '200: error the account has no registry integration to push to',
    ])
    expect(check(push('registry: ${{NAME}}'), { registries: [], variables: new Set(['NAME']) })).toEqual([])
    expect(check(push('registry: r.example.com:5000'), { registries: [] })).toEqual([])
  })

  test('201 and 202: undefined variable, unknown name', () => {
    expect(check(push("registry: '${{NOPE}}'"))).toEqual(['201: warning "registry" refers to the undefined variable "NOPE"'])
    expect(check(push('registry: hug'))).toEqual(['202: error registry integration "hug" does not exist. Did you mean "hub"?'])
    expect(check(push('registry: hub', 'registry_context: other'))).toEqual([
      '202: error registry integration "other" does not exist',
    ])
    expect(check(oneStep('image: x', 'registry_context: other'))).toEqual([
      '202: error registry integration "other" does not exist',
    ])
    expect(
      check(
        oneStep('type: composition', 'composition: {}', 'composition_candidates: { a: {} }', 'registry_contexts: [hub, other]'),
      ),
    ).toEqual(['202: error registry integration "other" does not exist'])
    expect(check(push('registry: https://r.example.com/v2'))).toEqual([])
    expect(check(oneStep('image: x', 'role_arn: arn:aws:iam::123456789012:role/x'))).toEqual([
      '202: error "role_arn" is only allowed with "registry_context"',
    ])
  })

  test('203: several exist and none is named, unless the warning is suppressed', () => {
    expect(check(push(), { registries: [hub, ecr] })).toEqual([
      '203: warning 2 registry integrations exist and "registry" is not set; "hub" is used',
    ])
    expect(check(push(), { registries: [hub, ecr], quietDefaults: true })).toEqual([])
  })
})

describe('registries of build steps (P175)', () => {
  test('204: the account requires a registry', () => {
    const explicit = { autoPush: false, disablePush: false }
    expect(check(build(), explicit)).toEqual(["204: error 'registry' is required"])
    expect(check(build('disable_push: false'), explicit)).toEqual([])
    expect(check(build('registry: hub'), explicit)).toEqual([])
    expect(check(build(), { autoPush: false, disablePush: true })).toEqual([])
    expect(check(`build_version: v1\n${build()}`, explicit)).toEqual([])
  })

  test('205: no registry to push to', () => {
    const none = { registries: [{ ...hub, isDefault: false }] }
    expect(check(build(), none)).toEqual([
      '205: warning "registry" is not set and the account has no default registry; the image is not pushed',
    ])
    expect(check(build('disable_push: true'), none)).toEqual([])
    expect(check(build())).toEqual([])
  })

  test('206: Google Cloud Build without credentials, invalid regions and roles', () => {
    const gcb = 'provider: { type: gcb, arguments: { cache: { repo: r } } }'
    const google = { name: 'gcr', domain: 'eu.gcr.io', isDefault: false }
    const message = '206: error Google Cloud Build needs "google_app_creds" or a Google registry'
    expect(check(build(gcb))).toContain(message)
    expect(check(build(gcb), { registries: [hub, google] })).not.toContain(message)
    expect(check(build(gcb.replace('cache:', 'google_app_creds: c, cache:')))).not.toContain(message)
    expect(check(build('region: eu-west-1'))).toEqual([
      '206: error "region" is only allowed with an ECR registry, which "hub" is not',
    ])
    expect(check(build('registry: ecr', 'region: eu-west-1'), { registries: [hub, ecr] })).toEqual([])
    expect(check(build('registry: ecr', 'region: moon'), { registries: [hub, ecr] })).toEqual([
      '206: error "region" must be an AWS region such as eu-central-1. Current value: moon',
    ])
    expect(check(build('role_arn: me'))).toEqual([
      '206: error "role_arn" must have the form arn:aws:iam::<12 digits>:role/<name>. Current value: me',
    ])
    expect(check(build('aws_duration_seconds: 60'))).toEqual([
      '206: error "aws_duration_seconds" is only allowed with "role_arn"',
    ])
    expect(check(push('registry: hub', 'region: eu-west-1'))).toEqual([
      '206: error "region" is only allowed with an ECR registry, which "hub" is not',
    ])
  })

  test('207: two registries of one domain, reported once', () => {
    const other = { name: 'other', domain: 'docker.io', isDefault: false }
    const third = { name: 'third', domain: 'Docker.io', isDefault: false }
    const registries = [hub, ecr, other, third]
    expect(check(build('registry: hub', 'registry_contexts: [hub, ecr, other, third]'), { registries })).toEqual([
      '207: error registries "hub" and "other" have the same domain docker.io',
    ])
    expect(check(build('registry: hub', 'registry_contexts: [other]'), { registries })).toEqual([])
    expect(check(build('registry: hub', 'registry_contexts: [other]', 'buildx: true'), { registries })).toEqual([
      '207: error registries "hub" and "other" have the same domain docker.io',
    ])
    expect(check(build('registry: hub', 'registry_contexts: [hub]', 'buildx: {}'), { registries })).toEqual([])
  })
})

describe('clusters and helm (P175)', () => {
  test('300 to 302: no cluster, undefined variable, unknown name', () => {
    expect(check(deploy('cluster: prod'), { clusters: [] })).toEqual(['300: error the account has no cluster to deploy to'])
    expect(check(deploy("cluster: '${{NOPE}}'"))).toEqual(['301: warning "cluster" refers to the undefined variable "NOPE"'])
    expect(check(deploy('cluster: pro'))).toEqual(['302: error cluster "pro" does not exist. Did you mean "prod"?'])
    expect(check(deploy('cluster: prod'))).toEqual([])
  })

  test('303: several exist and none is named', () => {
    const clusters = [{ name: 'prod' }, { name: 'test', isDefault: true }]
    expect(check(deploy(), { clusters })).toContain('303: warning 2 clusters exist and "cluster" is not set; "test" is used')
    expect(check(deploy(), { clusters, quietDefaults: true })).toEqual(['undefined: error "cluster" is required'])
  })

  test('400 and 500: tabs and folded text', () => {
    expect(check('version: 1\nsteps:\n  a:\n \timage: x\n')).toEqual(['400: error Your YAML contains both spaces and tabs.'])
    expect(check(oneStep('image: x', 'commands:', '  - >-', '    one', '      two'))).toEqual([
      "500: warning Your YAML contains invalid indentation after characters '>-'.",
    ])
  })

  test('601: Helm 2, the default version', () => {
    const helm = (fields: string): string[] =>
      check(oneStep('type: helm:1.0.0', `arguments: { ${fields} }`)).filter((one) => one.startsWith('601'))
    expect(helm("helm_version: '2.9.1'")).toEqual(['601: warning Helm 2.9.1 is not supported any more'])
    expect(helm('action: install')).toEqual(['601: warning Helm 2.0.0 is not supported any more'])
    expect(helm("helm_version: '3.14.0'")).toEqual([])
  })
})

describe('places of fields (P175)', () => {
  test('checks arguments, parallel steps, hooks and matrices, and reports each problem once', () => {
    const document = `version: '1.0'
hooks:
  on_finish:
    steps:
      last: { type: push, candidate: x, registry: no1 }
steps:
  group:
    type: parallel
    steps:
      inner: { type: push, arguments: { candidate: x, registry: no2 } }
      many:
        type: push
        candidate: x
        registry: no3
        matrix: { tag: [a, b] }
  hooked:
    image: x
    hooks:
      on_success:
        exec: { type: push, candidate: x, registry: no4 }
`
    const { problems } = compile({ text: document, file: 'a.yml' }, { account: full })
    expect(formatProblems(problems).filter((one) => one.includes('registry-unknown'))).toEqual([
      '5:51 error registry-unknown registry integration "no1" does not exist',
      '10:65 error registry-unknown registry integration "no2" does not exist',
      '14:19 error registry-unknown registry integration "no3" does not exist',
      '20:53 warning registry-unknown registry integration "no4" does not exist',
    ])
  })

  test('what a step lacks is a warning if the step may never run', () => {
    const lacking = { registries: [], git: [], clusters: [] }
    const when = 'when: { branch: { only: [main] } }'
    for (const [document, code] of [
      [clone(when), 100],
      [push(when), 200],
      [deploy('cluster: c', when), 300],
    ] as const)
      expect(check(document, lacking)[0]).toMatch(new RegExp(`^${code}: warning the account has no `))
    expect(check(push('registry: no', when))).toEqual(['202: warning registry integration "no" does not exist'])
    const inside = `version: '1.0'
steps:
  group:
    type: parallel
    when: { branch: { only: [main] } }
    steps:
      inner: { type: push, candidate: x, registry: no }
`
    expect(check(inside)).toEqual(['202: warning registry integration "no" does not exist'])
  })

  test('skips checks for unknown parts of an account', () => {
    const unknown: AccountContext = { autoPush: true, disablePush: false }
    for (const document of [clone('git: x'), push('registry: x'), build(), deploy('cluster: x')])
      expect(compile({ text: document, file: 'a.yml' }, { account: unknown }).problems).toEqual([])
  })
})

describe('registries as hosts', () => {
  test('distinguishes hosts and URLs from names', () => {
    for (const host of [
      'a.io',
      'localhost',
      'localhost:5000',
      'r.example.com/x',
      'https://a.b/c',
      'http://10.0.0.1:80',
      'host:5000',
    ])
      expect(isRegistryHost(host)).toBe(true)
    for (const name of ['hub', 'my-registry', 'a..b', '.a', 'a.', 'a b.c', 'a:b:c', 'ftp://a.b', ''])
      expect(isRegistryHost(name)).toBe(false)
    expect(['eu.gcr.io', 'europe-docker.pkg.dev', ecr.domain, 'docker.io'].map(registryKind)).toEqual([
      'google',
      'google',
      'ecr',
      'standard',
    ])
  })

  test('checks long texts in linear time (P176)', () => {
    const kinds = [
      (n: number) => 'a'.repeat(n),
      (n: number) => 'a.'.repeat(n),
      (n: number) => `${'a-'.repeat(n)}!`,
      (n: number) => `http://${'a.'.repeat(n)}!`,
      (n: number) => '1'.repeat(n),
    ]
    for (const kind of kinds) {
      expect(isRegistryHost(kind(500_000))).toBe(false)
      const judge = (length: number): void => void [isRegistryHost(kind(length)), registryKind(kind(length))]
      expect(growth(60_000, judge)).toBeLessThan(LINEAR)
    }
  })
})
