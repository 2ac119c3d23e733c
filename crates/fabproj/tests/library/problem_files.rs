//! Problem files: where x comes from, constraints with alternatives, and the examples.

use fabproj::set::Set;
use fabproj::set::from_file;
use fabproj::solve::{self, GapPlan, Problem, SolveSettings, Tool};

const DISPATCH: &str = "name = \"dispatch\"\ny = 2\nbounds = [0, 9]\nx = [\"demand\", \"price\"]\n\
    x_data = \"history.csv\"\n[objective]\nminimise = \"y[0]^2 + price*y[1]\"\n[[constraint]]\n\
    expr = \"sum(y) == demand\"\n";

fn folder(toml: &str, csv: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("dispatch.toml"), toml).expect("a file");
    std::fs::write(folder.path().join("history.csv"), csv).expect("a file");
    folder
}

/// What is wrong with a problem file.
fn refused(folder: &tempfile::TempDir) -> String {
    let read = Problem::from_file(folder.path().join("dispatch.toml"));
    read.err().expect("an error").to_string()
}

/// The rows of x, each once, the smallest first.
fn rows(problem: &Problem) -> Vec<Vec<f64>> {
    let x = problem.draw_x(1_000, 0);
    let mut rows: Vec<Vec<f64>> = x.chunks(problem.x_dim()).map(<[f64]>::to_vec).collect();
    rows.sort_by(|a, b| a[0].total_cmp(&b[0]));
    rows
}

#[cfg(feature = "csv")]
#[test]
fn x_comes_from_the_columns_of_a_table_by_their_names() {
    let folder = folder(DISPATCH, "hour,price,demand\n0,2.5,4\n1,3,5.5\n2,2,6\n");
    let file = folder.path().join("dispatch.toml");
    let problem = Problem::from_file(&file).expect("a problem");
    let expected = [[4.0, 2.5], [5.5, 3.0], [6.0, 2.0]];
    assert_eq!(rows(&problem), expected);
    let set = from_file(&file).expect("a set");
    assert_eq!(set.x_bounds(), [(4.0, 6.0), (2.0, 3.0)]);
    // A model file keeps the rows, and other rows are another problem.
    let fabproj::set::Description::File { text, .. } = problem.description() else {
        panic!("not a file");
    };
    let again = Problem::from_toml(text).expect("a problem");
    assert_eq!(rows(&again), expected);
    let other = Problem::from_toml(&text.replace("5.5", "5.6")).expect("a problem");
    assert_ne!(other.description().hash(), problem.description().hash());
}

#[cfg(feature = "npz")]
#[test]
fn x_comes_from_an_array() {
    let text = DISPATCH.replace("csv", "npz");
    let folder = folder(&text, "");
    let x: Vec<u8> = [4.0_f64, 2.5, 5.5, 3.0]
        .iter()
        .flat_map(|x| x.to_le_bytes())
        .collect();
    let header = "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), }";
    let header = format!("{header:<117}\n");
    let mut array = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    array.extend(header.bytes());
    array.extend(x);
    let file = std::fs::File::create(folder.path().join("history.npz")).expect("a file");
    let mut archive = zip::ZipWriter::new(file);
    let plain =
        zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    archive.start_file("x.npy", plain).expect("an entry");
    std::io::Write::write_all(&mut archive, &array).expect("an array");
    archive.finish().expect("an archive");
    let problem = Problem::from_file(folder.path().join("dispatch.toml")).expect("a problem");
    assert_eq!(rows(&problem), [[4.0, 2.5], [5.5, 3.0]]);
}

#[cfg(feature = "csv")]
#[test]
fn what_is_wrong_with_the_data_is_said_where_the_file_names_it() {
    let cases: [(&str, &[&str]); 4] = [
        (
            "hour,demand\n0,4\n",
            &["line 5, column 10", "history.csv", "price"],
        ),
        ("price,demand\n2,NaN\n", &["line 5", "demand", "NaN"]),
        ("price,demand\n2,x\n", &["line 5", "`x`", "not a number"]),
        ("price,demand\n", &["line 5", "x_data"]),
    ];
    for (csv, words) in cases {
        let error = refused(&folder(DISPATCH, csv));
        for word in words {
            assert!(error.contains(word), "{word}: {error}");
        }
    }
    let error = refused(&folder(&DISPATCH.replace("history", "absent"), ""));
    assert!(error.contains("absent.csv"), "{error}");
    let error = refused(&folder(&DISPATCH.replace("csv", "txt"), ""));
    assert!(error.contains("history.txt"), "{error}");
}

/// A Parquet file of columns of numbers, some of which may be missing.
#[cfg(feature = "parquet")]
fn write_parquet(path: &std::path::Path, columns: &[(&str, &[Option<f64>])]) {
    use parquet::data_type::DoubleType;
    use parquet::file::writer::SerializedFileWriter;
    let fields: String = columns
        .iter()
        .map(|(name, _)| format!("optional double {name};"))
        .collect();
    let schema = parquet::schema::parser::parse_message_type(&format!("message x {{ {fields} }}"));
    let file = std::fs::File::create(path).expect("a file");
    let schema = std::sync::Arc::new(schema.expect("a schema"));
    let mut writer = SerializedFileWriter::new(file, schema, Default::default()).expect("a writer");
    let mut group = writer.next_row_group().expect("rows");
    for (_, values) in columns {
        let present: Vec<f64> = values.iter().copied().flatten().collect();
        let levels: Vec<i16> = values.iter().map(|v| i16::from(v.is_some())).collect();
        let mut column = group.next_column().expect("a column").expect("a column");
        let typed = column.typed::<DoubleType>();
        typed
            .write_batch(&present, Some(&levels), None)
            .expect("numbers");
        column.close().expect("a column");
    }
    group.close().expect("rows");
    writer.close().expect("a file");
}

#[cfg(feature = "parquet")]
#[test]
fn x_comes_from_the_columns_of_a_parquet_file() {
    let folder = folder(&DISPATCH.replace("csv", "parquet"), "");
    let columns: [(&str, &[Option<f64>]); 3] = [
        ("hour", &[Some(0.0), None]),
        ("price", &[Some(2.5), Some(3.0)]),
        ("demand", &[Some(4.0), Some(5.5)]),
    ];
    write_parquet(&folder.path().join("history.parquet"), &columns);
    let problem = Problem::from_file(folder.path().join("dispatch.toml")).expect("a problem");
    assert_eq!(rows(&problem), [[4.0, 2.5], [5.5, 3.0]]);
}

#[cfg(feature = "parquet")]
#[test]
fn what_is_wrong_with_a_parquet_file_is_said_where_the_file_names_it() {
    type Column<'a> = (&'a str, &'a [Option<f64>]);
    let price: Column<'_> = ("price", &[Some(2.0), Some(3.0)]);
    let cases: [(&[Column<'_>], &[&str]); 4] = [
        (
            &[price],
            &["line 5, column 10", "history.parquet", "demand"],
        ),
        (
            &[price, ("demand", &[Some(4.0), Some(f64::NAN)])],
            &["line 5", "row 2 of column `demand` is NaN"],
        ),
        (
            &[price, ("demand", &[Some(4.0), None])],
            &["line 5", "demand", "empty"],
        ),
        (&[("price", &[]), ("demand", &[])], &["line 5", "x_data"]),
    ];
    for (columns, words) in cases {
        let folder = folder(&DISPATCH.replace("csv", "parquet"), "");
        write_parquet(&folder.path().join("history.parquet"), columns);
        let error = refused(&folder);
        for word in words {
            assert!(error.contains(word), "{word}: {error}");
        }
    }
    let folder = folder(&DISPATCH.replace("csv", "parquet"), "");
    std::fs::write(folder.path().join("history.parquet"), "demand,price\n").expect("a file");
    let error = refused(&folder);
    assert!(
        error.contains("line 5") && error.contains("Parquet"),
        "{error}"
    );
}

#[test]
fn rows_of_another_length_are_refused_with_both_shapes() {
    let refused = |text: &str| {
        Problem::from_toml(text)
            .err()
            .expect("an error")
            .to_string()
    };
    let error = refused(&DISPATCH.replace("\"history.csv\"", "[[1, 2, 3], [4, 5, 6]]"));
    for word in ["line 5", "(2, 3)", "(2,)"] {
        assert!(error.contains(word), "{word}: {error}");
    }
    let error = refused(DISPATCH);
    assert!(error.contains("x_data = [[1, 2], [3, 4]]"), "{error}");
}

#[test]
fn constraints_with_alternatives_are_a_membership_test() {
    let text = "name = \"levels\"\ny = [\"p\"]\nbounds = { p = [0, 4] }\nx = [\"t\"]\n\
        x_bounds = { t = [0, 4] }\n[objective]\nminimise = \"(p - t)^2\"\n[[constraint]]\n\
        any = [\"p <= 0.1\", \"p >= 2\"]\n";
    let problem = Problem::from_toml(text).expect("a problem");
    let mut inside = [0.0];
    let mut memory = vec![0.0; problem.functions().memory()];
    for (p, expected) in [(0.05, -1.0), (1.0, 1.0), (3.0, -1.0), (f64::NAN, 1.0)] {
        let functions = problem.functions();
        functions.values(&[p], &[1.0], &mut inside, &mut memory);
        assert_eq!(inside, [expected], "{p}");
    }
}

#[cfg(feature = "csv")]
#[test]
fn the_dispatch_of_the_examples_is_solved_exactly() {
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/dispatch/dispatch.toml"
    );
    let problem = Problem::from_file(file).expect("a problem");
    let mut model = solve::train(&problem, &SolveSettings::default()).expect("a solver");
    assert_eq!(model.record().training.chosen.tool, Tool::Structured);
    let certificate = model
        .certify(&problem, &GapPlan::default())
        .expect("a certificate");
    assert_eq!(certificate.feasible, certificate.samples);
    assert!(certificate.worst < 1e-9, "{certificate:?}");
}
