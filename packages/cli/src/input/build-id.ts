import { fault } from '@windlass/kit/faults'

/** Returns the id of a build that the user wrote. Throws `not-found` if it is not a valid id. */
export function requireBuildId(text: string): string {
  if (!/^[0-9a-f]{24}$/.test(text))
    throw fault('not-found', { message: `"${text}" is not a build id.`, hint: 'List builds with `windlass get builds`.' })
  return text
}
