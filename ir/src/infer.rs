//! Types that follow from other types: one place for the verifier, the reader and the builder.
//!
//! Functions that can fail say why in words that read after "`op`: ".

use crate::types::{Elem, Pointer, Scalar, Shape, Type};

/// The type of one truth value per lane of `ty`.
pub fn mask(ty: Type) -> Type {
    ty.with_elem(Elem::Scalar(Scalar::I1))
}

/// What a load through a pointer, a tile of pointers or a block pointer gives.
pub fn pointee(ty: Type) -> Option<Type> {
    match ty {
        Type::Scalar(Elem::Ptr(p)) => Some(Type::Scalar(p.target())),
        Type::Tile(shape, Elem::Ptr(p)) => Some(Type::Tile(shape, p.target())),
        Type::BlockPtr(shape, elem) => Some(Type::Tile(shape, elem)),
        _ => None,
    }
}

/// A pointer to this element in global memory; none for pointers nested too deep.
pub fn pointer_to(elem: Elem) -> Option<Pointer> {
    match elem {
        Elem::Scalar(s) => Some(Pointer::to(s)),
        Elem::Ptr(p) => Some(Pointer {
            levels: p.levels.checked_add(1)?,
            ..p
        }),
    }
}

fn tile(ty: Type) -> Result<(Shape, Elem), String> {
    match ty {
        Type::Tile(shape, elem) => Ok((shape, elem)),
        _ => Err(format!("a tile is expected, this is `{ty}`")),
    }
}

/// A shape with these dimensions, which are powers of two by construction.
fn shape_of(dims: impl Iterator<Item = usize>) -> Result<Shape, String> {
    let dims: Vec<u64> = dims.map(|d| d as u64).collect();
    Shape::new(&dims).ok_or_else(|| "the result has too many dimensions".to_string())
}

/// `tt.expand_dims`.
pub fn expand_dims(ty: Type, axis: u32) -> Result<Type, String> {
    let (shape, elem) = tile(ty)?;
    let out = shape.with_inserted(axis as usize, 1);
    out.map(|s| Type::Tile(s, elem))
        .ok_or_else(|| format!("axis {axis} does not fit {} dimensions", shape.rank()))
}

/// `tt.trans`: result dimension i is operand dimension `order[i]`.
pub fn trans(ty: Type, order: &[u32]) -> Result<Type, String> {
    let (shape, elem) = tile(ty)?;
    permutation(order, shape.rank())?;
    let dims = order.iter().map(|&axis| shape.dim(axis as usize));
    Ok(Type::Tile(shape_of(dims)?, elem))
}

/// Checks that `order` names each of `rank` dimensions once.
pub fn permutation(order: &[u32], rank: usize) -> Result<(), String> {
    let mut seen = vec![false; rank];
    let fits = order.len() == rank
        && order.iter().all(|&axis| {
            seen.get_mut(axis as usize)
                .is_some_and(|s| !std::mem::replace(s, true))
        });
    if fits {
        Ok(())
    } else {
        Err(format!(
            "order {order:?} is not a permutation of {rank} dimensions"
        ))
    }
}

/// `tt.join`: a last dimension of two.
pub fn join(ty: Type) -> Result<Type, String> {
    let (shape, elem) = tile(ty)?;
    let out = shape.with_inserted(shape.rank(), 2);
    out.map(|s| Type::Tile(s, elem))
        .ok_or_else(|| "the result has too many dimensions".to_string())
}

/// `tt.split`: each half of a last dimension of two.
pub fn split(ty: Type) -> Result<Type, String> {
    let (shape, elem) = tile(ty)?;
    match shape.rank().checked_sub(1) {
        Some(last) if shape.dim(last) == 2 => Ok(Type::Tile(
            shape.without(last).ok_or("there is no last dimension")?,
            elem,
        )),
        _ => Err(format!("the last dimension of `{ty}` is not 2")),
    }
}

/// `tt.cat` of two tiles of this type.
pub fn cat(ty: Type) -> Result<Type, String> {
    let (shape, elem) = tile(ty)?;
    if shape.rank() != 1 {
        return Err(format!("a tile of one dimension is expected, this is `{ty}`"));
    }
    let dims = [(shape.dim(0) as u64).saturating_mul(2)];
    Shape::new(&dims)
        .map(|s| Type::Tile(s, elem))
        .ok_or_else(|| "the result is too large".to_string())
}

/// `tt.reduce`: without the dimension; a number when none is left.
pub fn reduce(ty: Type, axis: u32) -> Result<Type, String> {
    let (shape, elem) = tile(ty)?;
    let out = shape.without(axis as usize);
    let out = out.ok_or_else(|| format!("axis {axis} does not fit {} dimensions", shape.rank()))?;
    Ok(if out.rank() == 0 {
        Type::Scalar(elem)
    } else {
        Type::Tile(out, elem)
    })
}

/// Whether `tt.broadcast` leads from one shape to the other.
pub fn broadcasts(from: Shape, to: Shape) -> bool {
    from.rank() == to.rank() && from.dims().zip(to.dims()).all(|(a, b)| a == b || a == 1)
}

/// The shape that two tiles broadcast to, dimension by dimension; none if they do not.
pub fn common_shape(a: Shape, b: Shape) -> Option<Shape> {
    let fits = a.rank() == b.rank() && a.dims().zip(b.dims()).all(|(x, y)| x == y || x == 1 || y == 1);
    let dims = a.dims().zip(b.dims()).map(|(x, y)| x.max(y));
    fits.then(|| shape_of(dims).ok()).flatten()
}

/// Dimensions other than one, in order: what must agree between a descriptor's block and a tile.
pub fn significant(shape: Shape) -> Vec<usize> {
    shape.dims().filter(|&d| d != 1).collect()
}
