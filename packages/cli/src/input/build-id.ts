import { fault } from '@windlass/kit/faults'

/** Returns the id of a build that the user wrote, alone or as `build/ID`, which `get builds -o name` prints. Throws `not-found` if it is not a valid id. */
export function requireBuildId(text: string): string {
  const [, id] = /^(?:build\/)?([0-9a-f]{24})$/.exec(text) ?? []
  if (id === undefined)
    throw fault('not-found', { message: `"${text}" is not a build id.`, hint: 'List builds with `windlass get builds`.' })
  return id
}
