import type { MainClone } from '@windlass/plan'
import { describe, expect, test } from 'vitest'
import { compile } from '../compile/compile.ts'
import { MAX_STEPS } from './step-names.ts'

const CLONE: MainClone = { repo: '${{CF_REPO_OWNER}}/${{CF_REPO_NAME}}', revision: '${{CF_REVISION}}' }

function compiled(steps: string, mainClone?: MainClone, root = '') {
  return compile({ text: `version: '1.0'\n${root}steps:\n${steps}`, file: 'p.yml' }, { mainClone, checksSource: true })
}

function problemsOf(...args: Parameters<typeof compiled>): string[] {
  return compiled(...args).problems.map(({ line, severity, code, message }) => `${line} ${severity} ${code} ${message}`)
}

describe('the automatic clone', () => {
  test('is the first step, and the steps after it wait for it', () => {
    const { plan } = compiled('  build: { type: build, image_name: app }\n', { ...CLONE, git: 'forge' })
    expect(plan?.steps.map(({ name, after }) => [name, after])).toEqual([
      ['main_clone', []],
      ['build', ['main_clone']],
    ])
    expect(plan?.steps[0]).toMatchObject({
      title: 'Clone the repository',
      action: { kind: 'git-clone', repo: CLONE.repo, revision: CLONE.revision, git: 'forge' },
    })
    expect(plan?.mainClone).toEqual({ ...CLONE, git: 'forge' })
  })

  test('in parallel mode conditions refer to it by its name', () => {
    const steps = '  test:\n    image: x\n    when: { steps: [{ name: main_clone, on: [success] }] }\n  lint: { image: x }\n'
    expect(problemsOf(steps, CLONE, 'mode: parallel\n')).toEqual([])
    const { plan } = compiled(steps, CLONE, 'mode: parallel\n')
    expect(plan?.steps.map(({ name, after }) => [name, after])).toEqual([
      ['main_clone', []],
      ['test', []],
      ['lint', []],
    ])
    expect(problemsOf(steps, undefined, 'mode: parallel\n')).toEqual([
      '6 warning unknown-step step "main_clone" does not exist, so the condition is never met',
    ])
  })

  test.each([
    ['at the root', '  main_clone: { image: x }\n'],
    ['in a parallel step', '  all:\n    type: parallel\n    steps:\n      main_clone: { image: x }\n'],
    ['in a list of parallel steps', '  all:\n    type: parallel\n    steps:\n      - main_clone: { image: x }\n'],
  ])('is not added beside a step of its name %s', (_where, steps) => {
    const { plan, problems } = compiled(steps, CLONE)
    expect(problems).toEqual([])
    expect(plan?.steps.filter(({ action }) => action.kind === 'git-clone')).toEqual([])
  })

  test('is added beside a clone of another name, unless only documents without a clone are to get it', () => {
    const steps = '  sources: { type: git-clone, repo: a/b, git: g }\n'
    expect(compiled(steps, CLONE).plan?.steps.map(({ name }) => name)).toEqual(['main_clone', 'sources'])
    const versioned = steps.replace('git-clone', '"git-clone:1.0.0"')
    expect(compiled(versioned, { ...CLONE, unlessCloned: true }).plan?.steps).toHaveLength(1)
    expect(compiled(steps, { ...CLONE, unlessCloned: true }).plan?.steps.map(({ name }) => name)).toEqual(['sources'])
  })

  test('of a plan whose steps are loaded later stays in the plan', () => {
    const text = 'kind: pipeline\nmetadata: { name: a/b }\nspec:\n  specTemplate: { location: git, repo: a/b, path: p.yml }\n'
    expect(compile({ text, file: 'p.yml' }, { mainClone: CLONE }).plan).toMatchObject({ steps: [], mainClone: CLONE })
  })

  test('counts as a step', () => {
    const steps = Array.from({ length: MAX_STEPS }, (_, n) => `  s${n}: { image: x }\n`).join('')
    expect(problemsOf(steps)).toEqual([])
    expect(problemsOf(steps, CLONE)).toEqual([`1 error too-large the pipeline has more than ${MAX_STEPS} steps`])
  })
})

describe('a step that needs source code that nothing clones', () => {
  const missing = (name: string): string =>
    `3 warning no-source step "${name}" needs source code, but no step clones a repository`

  test.each([
    ['an image build', '  app: { type: build, image_name: app }\n'],
    [
      'an image build in a folder of the clone',
      '  app: { type: build, image_name: app, working_directory: "${{main_clone}}/app" }\n',
    ],
    [
      'a composition in a file',
      '  app: { type: composition, composition: ./compose.yml, composition_candidates: { a: { image: x } } }\n',
    ],
  ])('is reported: %s', (_what, steps) => {
    expect(problemsOf(steps)).toContain(missing('app'))
    expect(problemsOf(steps, CLONE)).toEqual([])
  })

  test.each([
    [
      'after a clone of any name',
      '  sources: { type: git-clone, repo: https://h/a/b }\n  app: { type: build, image_name: app }\n',
    ],
    ['after a freestyle step', '  get: { image: x, commands: [git clone b] }\n  app: { type: build, image_name: app }\n'],
    [
      'after the services of a composition',
      '  make: { type: composition, composition: { services: { a: { image: x } } }, composition_candidates: { b: { image: x } } }\n  app: { type: build, image_name: app }\n',
    ],
    ['for a Dockerfile in the pipeline', '  app: { type: build, image_name: app, dockerfile: { content: FROM x } }\n'],
    ['in an absolute folder', '  app: { type: build, image_name: app, working_directory: /codefresh/volume/made }\n'],
    ['that only runs an image', '  look: { image: x }\n'],
  ])('is not assumed %s', (_where, steps) => {
    expect(problemsOf(steps).filter((problem) => problem.includes('no-source'))).toEqual([])
  })

  test('is reported in parallel mode if no step at all can provide it', () => {
    const build = '  app: { type: build, image_name: app }\n'
    expect(problemsOf(build, undefined, 'mode: parallel\n')[0]).toContain('no-source')
    expect(problemsOf(`${build}  other: { image: x }\n`, undefined, 'mode: parallel\n')).toEqual([])
  })
})
