/** Which template says what is promoted of an application. Pure. */
import type { InlineTemplate, LabelSelector, ProductInput, PromotionTemplateInput } from '@windlass/protocol'

export type NamedTemplate = PromotionTemplateInput & { readonly name: string }

type Labels = Readonly<Record<string, string>>

/**
 * Returns the template of an application: that of the product, or of those that select its labels the one with the smallest number. Without one, all files of its folder are promoted. Undefined if the product
 * names one that does not exist.
 */
export function templateOf(
  { promotionTemplate, promotionTemplateRef }: Pick<ProductInput, 'promotionTemplate' | 'promotionTemplateRef'>,
  templates: readonly NamedTemplate[],
  labels: Labels,
): InlineTemplate | undefined {
  if (promotionTemplate !== undefined) return promotionTemplate
  if (promotionTemplateRef !== undefined) return templates.find(({ name }) => name === promotionTemplateRef)
  const [first] = templates
    .filter(({ applicationSourceSelector }) => selects(applicationSourceSelector, labels))
    .toSorted((a, b) => a.priority - b.priority || (a.name < b.name ? -1 : 1))
  return first ?? { promotion: {} }
}

/** Like Kubernetes, except that an empty selector selects nothing: a template for everything would be a surprise. */
function selects({ matchLabels, matchExpressions }: LabelSelector, labels: Labels): boolean {
  const pairs = Object.entries(matchLabels)
  if (pairs.length + matchExpressions.length === 0) return false
  return (
    pairs.every(([key, value]) => labels[key] === value) &&
    matchExpressions.every(({ key, operator, values }) => {
      const value = labels[key]
      switch (operator) {
        case 'In':
          return value !== undefined && values.includes(value)
        case 'NotIn':
          return value === undefined || !values.includes(value)
        case 'Exists':
          return value !== undefined
        case 'DoesNotExist':
          return value === undefined
      }
    })
  )
}
