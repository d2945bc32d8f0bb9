/** Step type parallel: runs several steps at the same time. The steps inside are drafted like those of the document. */
import { PARALLEL } from '../language/control-fields.ts'
import type { BuiltInStepType } from '../language/step-type.ts'

export const parallel: BuiltInStepType<never> = {
  about: 'Runs several steps at the same time.',
  fields: PARALLEL,
  open: true,
  checkContext: undefined,
  toAction: undefined,
}
