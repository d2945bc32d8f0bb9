/** A manifest checked as far as it can be without a use of it: its own fields, and the steps or the template that it consists of. */
import { compile } from '../compile.ts'
import type { Diagnostic } from '../diagnostic.ts'
import { hasErrors, sortProblems } from '../diagnostic.ts'
import type { Source } from '../parse.ts'
import { Report } from '../report.ts'
import { parseTemplate } from '../template/parser.ts'
import { TemplateProblem } from '../template/template-error.ts'
import { offsetInScalar } from '../tree.ts'
import { catalogOf } from './catalog.ts'
import { readStepType } from './manifest.ts'
import type { ReadStepType, StepType } from './manifest.ts'

/** Reads a manifest, and tells what is wrong with its steps too. Never throws; positions are those of the manifest. */
export function checkStepType(source: Source): ReadStepType {
  const read = readStepType(source)
  if (read.manifest === undefined) return read
  const inside = 'map' in read.manifest.steps ? problemsOfSteps(read.manifest, source) : problemsOfTemplate(read.manifest)
  const problems = sortProblems([...read.problems, ...inside])
  return hasErrors(problems) ? { problems } : { ...read, problems }
}

/** A pipeline that uses it with a variable for each argument: those pass every check of their types. */
function problemsOfSteps({ name, version, arguments: declared }: StepType, source: Source): Diagnostic[] {
  const values = Object.fromEntries(declared.required.map((one) => [one, `\${{${one}}}`]))
  const text = JSON.stringify({ version: '1.0', steps: { step: { type: `${name}:${version}`, arguments: values } } })
  const stepTypes = catalogOf([{ name, version, text: source.text }])
  const { problems } = compile({ text, file: '' }, { stepTypes, variables: [] })
  // Other step types may be known where it is used.
  return problems.flatMap((one) =>
    one.file === `${name}:${version}` && one.code !== 'step-type' ? [{ ...one, file: source.file }] : [],
  )
}

function problemsOfTemplate({ steps, source }: StepType): Diagnostic[] {
  if (!('template' in steps)) return []
  const { template, delimiters } = steps
  try {
    parseTemplate(String(template.value), delimiters)
    return []
  } catch (error) {
    if (!(error instanceof TemplateProblem)) throw error
    const report = new Report(source)
    const at = offsetInScalar(template, source.text, error.offset)
    report.error('step-template', { start: at, end: at + 1 }, `the template cannot be read: ${error.message}`, {
      path: 'spec.stepsTemplate',
    })
    return report.problems
  }
}
