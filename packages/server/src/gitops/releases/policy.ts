/** Which policy counts for a step. Each attribute is resolved by itself. Pure. */
import type { EnvironmentKind, PolicyAttributes, PromotionPolicyInput } from '@windlass/protocol'

export interface Target {
  readonly product: string
  readonly environment: string
  readonly kind: EnvironmentKind
}

export type NamedPolicy = PromotionPolicyInput & { readonly name: string }

/** What counts without a policy. */
const DEFAULT_ACTION = 'commit'

const ATTRIBUTES = ['action', 'preAction', 'postAction'] as const

/**
 * Resolves the attributes for a target: the policy of the flow step first, then the policies that select the target, the smallest number first, and by name for equal numbers. A policy that leaves an
 * attribute out does not hide those after it.
 */
export function resolvePolicy(
  target: Target,
  own: PolicyAttributes | undefined,
  policies: readonly NamedPolicy[],
): PolicyAttributes & { readonly action: NonNullable<PolicyAttributes['action']> } {
  const matching = policies.filter((policy) => selects(policy, target)).toSorted(comparePolicies)
  const layers = [own ?? {}, ...matching.map(({ policy }) => policy)]
  const found = Object.fromEntries(
    ATTRIBUTES.flatMap((name) => {
      const value = layers.map((layer) => layer[name]).find((one) => one !== undefined)
      return value === undefined ? [] : [[name, value] as const]
    }),
  )
  return { action: DEFAULT_ACTION, ...found }
}

/** The public documentation calls the order ascending: the smaller number wins. */
function comparePolicies(one: NamedPolicy, other: NamedPolicy): number {
  return one.priority - other.priority || (one.name < other.name ? -1 : 1)
}

function selects({ selector: { product, targetEnvironment } }: NamedPolicy, target: Target): boolean {
  return (
    (product?.names.includes(target.product) ?? true) &&
    (targetEnvironment?.names?.includes(target.environment) ?? true) &&
    (targetEnvironment?.types?.includes(target.kind) ?? true)
  )
}
