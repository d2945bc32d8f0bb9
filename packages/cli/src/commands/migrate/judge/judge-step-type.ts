import { checkStepType, type Diagnostic } from '@windlass/pipeline'
import { reservedStepType } from '../../import/reserved-step-type.ts'
import { lineIn, sentence, type Recognized } from './recognize.ts'
import type { Remark, Verdict } from './verdict.ts'

/** Judges a manifest of a step type, which moves as it is written. */
export function judgeStepType({ name, document }: Recognized): Verdict {
  const { text, from } = document
  const leave = (reasons: readonly Remark[]): Verdict => ({ kind: 'step-type', name, from, reasons })
  const reserved = reservedStepType(name)
  if (reserved !== undefined) return leave([{ path: 'metadata.name', ...reserved }])
  const toRemark = ({ path, line, message, hint }: Diagnostic): Remark => ({
    path,
    line: lineIn(document, line),
    reason: sentence(message),
    action: hint,
  })
  const { manifest, problems } = checkStepType({ text, file: from })
  if (manifest === undefined) return leave(problems.filter(({ severity }) => severity === 'error').map(toRemark))
  const label = `${manifest.name}:${manifest.version}`
  const resource = { kind: 'step-type', name: label, text, body: { manifest: text }, masked: [] } as const
  return { from, remarks: problems.map(toRemark), resource }
}
