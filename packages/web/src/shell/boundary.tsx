/** Keeps a bug of one screen from taking the rest of the page away. */
import { Component, type ReactNode } from 'react'
import { Problem } from '../parts/problem.tsx'

interface Props {
  /** A new value renders the children again. */
  readonly at: string
  readonly children: ReactNode
}

type State = { readonly at: string; readonly failed: { readonly error: unknown } | undefined }

/** Shows the error of its children in their place. React has boundaries as classes only. */
export class Boundary extends Component<Props, State> {
  override state: State = { at: this.props.at, failed: undefined }

  static getDerivedStateFromProps({ at }: Props, state: State): State | null {
    return at === state.at ? null : { at, failed: undefined }
  }

  static getDerivedStateFromError(error: unknown): Partial<State> {
    return { failed: { error } }
  }

  override render(): ReactNode {
    const { failed } = this.state
    return failed === undefined ? this.props.children : <Problem error={failed.error} onRetry={() => location.reload()} />
  }
}
