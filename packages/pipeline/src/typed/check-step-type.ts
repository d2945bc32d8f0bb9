/** Checks a manifest without a use of it: its own fields, and its steps or its template. */
import { compile } from '../compile/compile.ts'
import type { Diagnostic } from '../language/diagnostic.ts'
import { hasErrors, sortProblems } from '../language/diagnostic.ts'
import { isLanguageType } from '../draft/read-type.ts'
import type { Source } from '../syntax/parse.ts'
import { Report } from '../syntax/report.ts'
import { parseTemplate } from '../template/parser.ts'
import { TemplateProblem } from '../template/template-error.ts'
import { offsetInScalar } from '../syntax/tree.ts'
import { catalogOf } from './catalog.ts'
import { readStepType } from './manifest.ts'
import type { ReadStepType, StepTypeManifest } from './manifest.ts'

/** Reads a manifest and reports all problems, including those of its steps. Never throws; positions refer to the manifest. */
export function checkStepType(source: Source): ReadStepType {
  const read = readStepType(source)
  if (read.manifest === undefined) return read
  const inside = 'map' in read.manifest.steps ? problemsOfSteps(read.manifest, source) : problemsOfTemplate(read.manifest)
  const problems = sortProblems([...read.problems, ...problemsOfName(read.manifest), ...inside])
  return hasErrors(problems) ? { problems } : { ...read, problems }
}

/** A pipeline that uses a type of the language always gets that one, with any version. */
function problemsOfName({ name, source }: StepTypeManifest): readonly Diagnostic[] {
  if (!isLanguageType(name)) return []
  const report = new Report(source)
  report.error('invalid-value', { start: 0, end: 1 }, `"${name}" is a type of the pipeline language`, {
    path: 'metadata.name',
    hint: `Use another name, such as account/${name}.`,
  })
  return report.problems
}

/** Compiles a pipeline that uses the step type with a variable for each argument, because variables pass every check of their types. */
function problemsOfSteps({ name, version, arguments: declared }: StepTypeManifest, source: Source): Diagnostic[] {
  const values = Object.fromEntries(declared.required.map((one) => [one, `\${{${one}}}`]))
  const text = JSON.stringify({ version: '1.0', steps: { step: { type: `${name}:${version}`, arguments: values } } })
  const stepTypes = catalogOf([{ name, version, text: source.text }])
  const { problems } = compile({ text, file: '' }, { stepTypes, variables: [] })
  // Other step types may exist where it is used.
  return problems.flatMap((one) =>
    one.file === `${name}:${version}` && one.code !== 'step-type' ? [{ ...one, file: source.file }] : [],
  )
}

function problemsOfTemplate({ steps, source }: StepTypeManifest): Diagnostic[] {
  if (!('template' in steps)) return []
  const { template, delimiters } = steps
  try {
    parseTemplate(String(template.value), delimiters)
    return []
  } catch (error) {
    if (!(error instanceof TemplateProblem)) throw error
    const report = new Report(source)
    const at = offsetInScalar(template, source.text, error.offset)
    report.error('step-template', { start: at, end: at + 1 }, `invalid template: ${error.message}`, {
      path: 'spec.stepsTemplate',
    })
    return report.problems
  }
}
