"""Labels, an index to ignore and the first class of this part, by their names."""
import triton
import triton.language as tl


@triton.jit
def pick(logits_ptr, labels_ptr, loss_ptr, ignore_index, class_start_idx, n_classes, row_stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    label = tl.load(labels_ptr + row)
    cols = tl.arange(0, BLOCK)
    logits = tl.load(logits_ptr + row * row_stride + cols, mask=cols < n_classes, other=-float("inf"))
    loss = tl.log(tl.sum(tl.exp(logits), 0))
    if label != ignore_index:
        at = label - class_start_idx
        if (at >= 0) and (at < n_classes):
            loss -= tl.load(logits_ptr + row * row_stride + at)
    tl.store(loss_ptr + row, loss)
