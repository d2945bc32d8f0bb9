/** The `working_directory` of an action. */
import { VOLUME_PATH } from '../expression/builtin-variables.ts'
import { resolveDirectory } from './paths.ts'
import type { StepFields } from './step-fields.ts'
import type { Template } from './template.ts'

/** Returns the directory as `resolveDirectory` does, after substituting its variables. */
export function fillDirectory(
  template: Template | undefined,
  fields: StepFields,
  base: 'main-clone' | 'volume',
): string | undefined {
  const text = template === undefined ? '' : fields.required('working_directory', template, 'directory')
  return resolveDirectory(fields.scope, text, base)
}

/** Like `fillDirectory`; `IMAGE_WORK_DIR` gives the shared volume, for actions without an image of the user. */
export function fillVolumeDirectory(template: Template | undefined, fields: StepFields, base: 'main-clone' | 'volume'): string {
  return fillDirectory(template, fields, base) ?? fields.scope.lookup('CF_VOLUME_PATH') ?? VOLUME_PATH
}
