/** Names of objects of an application, as the command line writes them. */
import type { ResourceKey } from '@windlass/protocol'

export interface Named {
  readonly group?: string | undefined
  readonly kind: string
  readonly namespace?: string | undefined
  readonly name: string
}

/** Returns `KIND/NAMESPACE/NAME`, or `KIND/NAME` for an object without a namespace. */
export function nameOf({ kind, namespace = '', name }: Named): string {
  return [kind, namespace, name].filter((part) => part !== '').join('/')
}

/** Returns the name with its group (`Deployment.apps/shop/api`), which no other object has. */
export function fullNameOf(object: Named): string {
  const { group = '', kind } = object
  return nameOf({ ...object, kind: group === '' ? kind : `${kind}.${group}` })
}

export function keyOf({ group = '', kind, namespace = '', name }: Named): ResourceKey {
  return { group, kind, namespace, name }
}
