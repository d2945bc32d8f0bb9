import { BUILT_IN_STEP_TYPES, checkStepType, isLanguageType, type Diagnostic } from '@windlass/pipeline'
import { lineIn, sentence, type Recognized } from './recognize.ts'
import type { Remark, Verdict } from './verdict.ts'

/** Judges a manifest of a step type, which moves as it is written. */
export function judgeStepType({ name, document }: Recognized): Verdict {
  const { text, from } = document
  const leave = (reasons: readonly Remark[]): Verdict => ({ kind: 'step-type', name, from, reasons })
  const leaveName = (reason: string, action: string): Verdict => leave([{ path: 'metadata.name', reason, action }])
  if (isLanguageType(name)) return leaveName(`"${name}" is a type of the pipeline language.`, 'Steps use it without a manifest.')
  const toRemark = ({ path, line, message, hint }: Diagnostic): Remark => ({
    path,
    line: lineIn(document, line),
    reason: sentence(message),
    action: hint,
  })
  const { manifest, problems } = checkStepType({ text, file: from })
  if (manifest === undefined) return leave(problems.filter(({ severity }) => severity === 'error').map(toRemark))
  if (BUILT_IN_STEP_TYPES.some((one) => one.name === name))
    return leaveName(`"${name}" is included in Windlass.`, 'Steps use the included version.')
  const label = `${manifest.name}:${manifest.version}`
  const resource = { kind: 'step-type', name: label, text, body: { manifest: text }, masked: [] } as const
  return { from, remarks: problems.map(toRemark), resource }
}
