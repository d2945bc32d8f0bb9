/** A plan in the DOT language of Graphviz. */
import { edgesOf, type Preview, type PreviewStep } from '@windlass/plan'

const COLOURS = { runs: '#2da44e', depends: '#bf8700', skipped: '#8c959f', fails: '#cf222e' } as const

/** Renders groups as clusters, and hooks with dotted edges. */
export function toDot(preview: Preview): string {
  const children = Map.groupBy(preview.steps, ({ parent }) => parent)
  const lines = ['digraph build {', '  rankdir=LR; compound=true;', '  node [shape=box, style=rounded, fontname="sans-serif"];']
  const write = (step: PreviewStep, indent: string): void => {
    const inside = children.get(step.name) ?? []
    const color = `color="${COLOURS[step.forecast]}"`
    if (inside.length === 0) {
      lines.push(
        `${indent}${quote(step.name)} [label=${quote([step.title, step.subject].filter((text) => text !== '').join('\n'))}, ${color}];`,
      )
      return
    }
    lines.push(`${indent}subgraph ${quote(`cluster_${step.name}`)} {`, `${indent}  label=${quote(step.title)}; ${color};`)
    lines.push(`${indent}  ${quote(step.name)} [shape=point, style=invis];`)
    for (const child of inside) write(child, `${indent}  `)
    lines.push(`${indent}}`)
  }
  for (const step of children.get(undefined) ?? []) write(step, '  ')
  for (const { from, to, isHook } of edgesOf(preview))
    lines.push(`  ${quote(from)} -> ${quote(to)}${isHook ? ' [style=dotted]' : ''};`)
  return [...lines, '}'].join('\n')
}

function quote(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&').replace(/\n/g, '\\n')}"`
}
