import { describe, expect, test } from 'vitest'
import { compile } from '../compile/compile.ts'
import type { Diagnostic } from '../language/diagnostic.ts'
import { BUILT_IN_CATALOG } from './built-in.ts'
import { catalogOf, joinCatalogs, partial, type StepCatalog } from './catalog.ts'

function entry(name: string, version: string): { name: string; version: string; text: string } {
  const text = `version: '1.0'\nkind: step-type\nmetadata: {name: ${name}, version: ${version}}\nspec: {steps: {main: {image: alpine, commands: [echo]}}}\n`
  return { name, version, text }
}

const HELM = joinCatalogs(catalogOf(['1.0.0', '1.2.0', '1.1.0'].map((version) => entry('helm', version))), BUILT_IN_CATALOG)

function problemsOf(type: string, stepTypes: StepCatalog | undefined): readonly Diagnostic[] {
  const text = `version: '1.0'\nsteps:\n  one: { type: '${type}', image: alpine }\n`
  const { problems } = compile({ text, file: 'p.yml' }, stepTypes === undefined ? {} : { stepTypes })
  return problems.filter(({ code }) => code.startsWith('step-'))
}

function shown(problems: readonly Diagnostic[]): string[] {
  return problems.map(({ severity, code, message, hint }) => `${severity} ${code} ${message} / ${hint}`)
}

describe('a step type of a catalog that is not loaded', () => {
  test('says so, and how to load the catalog', () => {
    expect(shown(problemsOf('helm:1.1.12', partial(BUILT_IN_CATALOG)))).toEqual([
      'warning step-type step type "helm" is neither built in nor loaded; the step is not checked / ' +
        'Load the catalog that has it into a server with `windlass import step-types SOURCE`. ' +
        'Here step types come from the folder .windlass/steps next to the document, or from --step-types.',
    ])
    expect(shown(problemsOf('helm:1.1.12', BUILT_IN_CATALOG))).toEqual([
      'error step-type step type "helm" does not exist / ' +
        'Load the catalog that has it with `windlass import step-types SOURCE`, create it from its manifest, or use a built-in type.',
    ])
  })
})

test('a misspelled step type of a folder gets the name that it probably means', () => {
  const [problem] = problemsOf('acme/helo:1.0.0', partial(catalogOf([entry('acme/hello', '1.0.0')])))
  expect(problem).toMatchObject({ severity: 'warning', suggestion: { from: 'acme/helo', to: 'acme/hello' } })
  expect(problem?.message).toBe(
    'step type "acme/helo" is neither built in nor loaded; the step is not checked. Did you mean "acme/hello"?',
  )
})

describe('a version that does not exist', () => {
  test('names the known versions, the latest first', () => {
    expect(shown(problemsOf('helm:1.1.12', partial(HELM)))).toEqual([
      'warning step-type version 1.1.12 of step type "helm" is not loaded; the step is not checked / ' +
        'Use one of the known versions, or load 1.1.12 from its catalog. Known versions: 1.2.0, 1.1.0, 1.0.0.',
    ])
    expect(shown(problemsOf('helm:1.1.12', HELM))).toEqual([
      'error step-type version 1.1.12 of step type "helm" does not exist / ' +
        'Use one of the known versions, or load 1.1.12 from its catalog. Known versions: 1.2.0, 1.1.0, 1.0.0.',
    ])
  })

  test('names at most ten of many', () => {
    const many = catalogOf(Array.from({ length: 12 }, (_, minor) => entry('helm', `1.${minor}.0`)))
    expect(problemsOf('helm:2.0.0', many)[0]?.hint).toMatch(/Known versions: 1\.11\.0, .*, 1\.2\.0 and 2 more\.$/)
  })

  test('names them also if the version is missing or not valid', () => {
    expect(problemsOf('helm', HELM)[0]).toMatchObject({
      code: 'step-version',
      hint: 'Write "helm:1.2.0". Known versions: 1.2.0, 1.1.0, 1.0.0.',
    })
    expect(problemsOf('helm:1.1', HELM).map(({ code, hint }) => `${code} ${hint}`)).toEqual([
      'step-type Use one of the known versions. Known versions: 1.2.0, 1.1.0, 1.0.0.',
      'step-version Use three numbers, such as 1.2.0. Known versions: 1.2.0, 1.1.0, 1.0.0.',
    ])
    expect(problemsOf('codefresh-run', BUILT_IN_CATALOG).map(({ hint }) => hint)).toContain(
      'Write "codefresh-run:2.0.0". Known version: 2.0.0.',
    )
  })

  test('has no placeholder if no version is known', () => {
    expect(problemsOf('acme/greet', undefined)[0]).toMatchObject({
      code: 'step-version',
      hint: 'Add the version of its manifest after a colon.',
    })
  })
})

describe('a field that is written as a type', () => {
  test.each(['matrix', 'scale', 'hooks'])('%s is an error everywhere, which names the field', (name) => {
    for (const stepTypes of [undefined, partial(BUILT_IN_CATALOG), BUILT_IN_CATALOG])
      expect(shown(problemsOf(name, stepTypes))).toEqual([
        `error step-type step type "${name}" does not exist; "${name}" is a field of steps / ` +
          `Remove "type: ${name}", and write the field "${name}" in a step of another type, such as freestyle or build.`,
      ])
  })

  test('is used if a catalog has a step type of this name', () => {
    expect(problemsOf('matrix:1.0.0', catalogOf([entry('matrix', '1.0.0')]))).toEqual([])
  })
})
