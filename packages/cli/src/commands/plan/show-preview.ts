import type { Preview } from '@windlass/plan'
import { printTree, type TreeHead } from '../../plan/print-tree.ts'
import { toDot } from '../../plan/to-dot.ts'
import { toSvg } from '../../plan/to-svg.ts'

export interface Shown extends TreeHead {
  readonly output: string | undefined
}

/** Prints a plan in the format of the option `-o`. */
export function showPreview(preview: Preview, { output, ...head }: Shown): void {
  const { out } = head
  switch (output) {
    case 'json':
      return out.line(JSON.stringify(preview, null, 2))
    case 'dot':
      return out.line(toDot(preview))
    case 'svg':
      return out.line(toSvg(preview))
    default:
      printTree(preview, head)
  }
}
